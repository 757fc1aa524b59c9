"""Bags of words: for some tasks a classifier of one field, and complete answers around what it says.

- sentiment: the polarity by the review's words. The stars are those that go with this polarity most often in training.
- extraction: the `complaint_category` by the review's words. The other fields are those that go with this category most
  often, and the complaint is empty, for none that is copied from another review would be this one's.
- churn: the risk by the values of the profile's lines, and as reasons the lines that explain the outcome best.

A prompt trains where its reference knows that field.
"""

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, TypeAdapter

from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.bag_of_words.classifier import Classifier, Features, fit
from tasks.bag_of_words.sentences import BAG_OF_WORDS
from tasks.commerce.churn.profile import read_profile
from tasks.commerce.extraction.quotation import COMPLAINT, review_of
from tasks.commerce.registry import TASKS
from tasks.commerce.served import written
from tasks.commerce.shortcuts import lines_of
from tasks.commerce.text.json_fields import read_number

FILE: Final = "bag_of_words.json"
"""File of an evaluation's artifact with the bags of its tasks."""
FIELDS: Final[Mapping[TaskName, tuple[str, ...]]] = {
    "sentiment": ("polarity", "score"),
    "extraction": ("complaint_category",),
    "churn": ("churn",),
}
"""By task the field that is classified, and those of the reference from which it may be known."""
LEAVES: Final = str(True)
EVEN: Final = 0.5
SUREST: Final = 0.01
"""The nearest that a risk comes to 0 and to 1."""
MAX_ROWS: Final = 20_000
"""Prompts that train; of more, a random sample."""
_WORD: Final = re.compile(r"\b\w\w+\b")


class BagOfWords(BaseModel):
    """A classifier with what makes its classes complete answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: TaskName
    rows: int
    """Prompts that trained it."""
    classifier: Classifier
    answers: dict[str, str]
    """By class the complete answer; empty for churn, whose answer is made of the prompt's own profile."""

    def answer(self, prompt: str) -> str:
        """Return the answer to a prompt, in the form that the task asks for."""
        shares = self.classifier.probabilities(_features(self.task, prompt))
        if self.task != "churn":
            return self.answers[max(shares, key=lambda label: shares[label])]
        risk = min(max(round(shares.get(LEAVES, 0.0), 2), SUREST), 1 - SUREST)
        profile = read_profile(prompt)
        reference = {"churn": risk > EVEN, "profile": profile.texts if profile else {}}
        return written({**json.loads(TASKS["churn"].answer(reference)), "risk_score": risk, "churn": risk > EVEN})


def learn(task: TaskName, rows: Sequence[PromptRow], generator: random.Random) -> BagOfWords | None:
    """Fit a task's bag of words to training prompts; None where the task has none, or no prompt knows its field."""
    known = [row for row in rows if task in FIELDS and _knows(task, row.reference)]
    if not known:
        return None
    if len(known) > MAX_ROWS:
        known = generator.sample(known, MAX_ROWS)
    fields = [json.loads(TASKS[task].answer(row.reference)) for row in known]
    labels = [str(each[FIELDS[task][0]]) for each in fields]
    answers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    if task != "churn":
        for label, each in zip(labels, fields, strict=True):
            answers[label][written(each | {COMPLAINT: ""} if COMPLAINT in each else each)] += 1
    return BagOfWords(
        task=task,
        rows=len(known),
        classifier=fit([_features(task, row.prompt) for row in known], labels, words=task != "churn"),
        answers={label: found.most_common(1)[0][0] for label, found in answers.items()},
    )


def _knows(task: TaskName, reference: Mapping[str, Any]) -> bool:
    known = (reference.get("fields") or {}) if task == "extraction" else reference
    return any(known.get(name) is not None for name in FIELDS[task])


def _features(task: TaskName, prompt: str) -> Features:
    """Return how often each word is in the prompt's review, or the values of the profile's lines."""
    if task != "churn":
        return Counter(_WORD.findall((review_of(prompt) or prompt).lower()))
    found: dict[str, float] = {}
    for name, value in lines_of(prompt).items():
        number = read_number(value)
        found |= {f"{name}={value}": 1.0} if number is None else {name: number}
    return found


_BAGS: Final = TypeAdapter(dict[TaskName, BagOfWords])


def objections(task: TaskName, report: Mapping[str, Any], metrics: Mapping[str, Any]) -> list[str]:
    """Return what speaks against a bag of words in the place of the tuned model.

    Args:
        task: The task that it would answer.
        report: An evaluation's `report.json`.
        metrics: Its `ground_truth.json`: by task and metric the values of each model.
    """
    claim = report["claims"][task]
    scores = claim["baselines"][BAG_OF_WORDS]["scores"]
    found = []
    if scores["ci_low"] is not None and scores["ci_low"] > 0:
        found.append(
            f"the tuned model is better in {task}: it scores {scores['mean_tuned']:.3f} and the bag of words "
            f"{scores['mean_base']:.3f}, 95 % interval {scores['ci_low']:+.3f} to {scores['ci_high']:+.3f}"
        )
    for floor in claim["floors"]:
        reached = metrics[task][floor["metric"]].get(BAG_OF_WORDS, 0.0)
        if reached < floor["least"]:
            metric = floor["metric"].replace("_", " ")
            found.append(f"its {metric} in {task} is {reached:.3f}, below the floor of {floor['least']:g}")
    return found


def write_bags(bags: Mapping[TaskName, BagOfWords], folder: Path) -> None:
    """Write the bags of an evaluation."""
    (folder / FILE).write_bytes(_BAGS.dump_json(dict(bags)))


def read_bags(folder: Path) -> dict[TaskName, BagOfWords]:
    """Read the bags of an evaluation; none of one that has none, as those of earlier versions."""
    file = folder / FILE
    return _BAGS.validate_json(file.read_bytes()) if file.exists() else {}
