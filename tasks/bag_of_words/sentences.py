"""Sentences of the report on a classifier that beats the tuned model, and on a gain that is form."""

from collections.abc import Sequence
from typing import Final

from tasks.report.number_format import decimal
from tasks.report.wording import worded

BAG_OF_WORDS: Final = "bag-of-words"
"""Its name among the baselines."""


def classifier_sentence(task: str, prompts: int, its: float, tuned: float) -> str:
    """Say how many of the prompts the bag of words and the tuned model have right; `its` and `tuned` are shares."""
    return worded(
        "In {task} a classifier trained in seconds on the same rows is right in {its} of {n}, and the tuned model in "
        "{tuned}",
        task=task,
        n=decimal(prompts, 0),
        its=decimal(its * prompts, 0),
        tuned=decimal(tuned * prompts, 0),
    )


def form_sentence(tasks: Sequence[str], gain: float, left: float) -> str:
    """Say how much of a gain in right answers is left where broken JSON is repaired."""
    return worded(
        "{form} of the {gain} right answers gained ({tasks}) are form: the base has them if its JSON is repaired",
        gain=decimal(gain, 0),
        tasks=", ".join(tasks),
        form=decimal(min(gain, gain - left), 0),
    )
