"""Variety of answers: of two answers to different prompts, how often they differ, against the evaluation's.

A model that gives one answer to every prompt keeps the form of the task, and without references nothing else is seen.
So the answers of a day to different prompts are paired, each in one pair, by the prompts and not by the answers; the
share of pairs that differ is a mean that the test of drift can compare.

Right answers repeat too, and in a shop more often than in a test split: most reviews are happy. So only a share below
`LEAST` of the evaluation's is a fall: where the evaluation's answers differ in seven pairs of ten, a log in which nine
in ten right answers are the same is none, and nineteen in twenty is.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from schemas.tasks import TASK_NAMES
from tasks.commerce.shortcuts import FORM
from tasks.monitor.drift import Compared
from tasks.monitor.reward_counts import count_rewards
from tasks.monitor.scoring import baselines_of

LEAST: Final = 0.25
"""Share of the evaluation's variety that answers keep while nothing has collapsed."""
_SEED: Final = 1


def compared_variety(answers: pl.DataFrame, tested: pl.DataFrame) -> Compared | None:
    """Compare how often answers to different prompts differ with the evaluation.

    Args:
        answers: The champion's: `day`, `task`, `prompt` and `completion`.
        tested: Its answers to the test split: `task`, `prompt` and `completion`.

    Returns:
        None where no task has two answers to different prompts in a day.
    """
    pairs = _pairs(answers, ("task", "day"))
    if not pairs.height:
        return None
    baselines = {
        task: replace(each, mean=LEAST * each.mean, standard_error=LEAST * each.standard_error)
        for task, each in baselines_of(_pairs(tested, ("task",)), "differ").items()
    }
    there = set(pairs["task"])
    return Compared(count_rewards(pairs, [task for task in TASK_NAMES if task in there], "differ"), baselines)


def _pairs(answers: pl.DataFrame, within: Sequence[str]) -> pl.DataFrame:
    """Return pairs of answers to different prompts, with `prompt_id` (a pair's number) and whether they `differ`.

    The order of the pairs is that of the prompts' hashes, which no answer decides and which no time of day does.
    """
    import polars_hash  # noqa: F401 - gives expressions their `nchash`

    said = pl.col("completion").str.to_lowercase().str.replace_all(FORM.pattern, " ").str.strip_chars()
    order: pl.Expr = pl.col("prompt").nchash.xxh3_64(seed=_SEED)  # type: ignore[attr-defined]
    one_each = answers.unique([*within, "prompt"], keep="first", maintain_order=True)
    numbered = one_each.sort([*within, order]).with_columns(
        said.alias("said"), (pl.int_range(pl.len()).over(list(within)) // 2).alias("prompt_id")
    )
    found = numbered.group_by([*within, "prompt_id"], maintain_order=True).agg(
        pl.len().alias("size"), (pl.col("said").n_unique() > 1).alias("differ")
    )
    return found.filter(pl.col("size") > 1).drop("size")
