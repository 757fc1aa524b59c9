"""Ground truth in the shop's terms: of so many answers, in how many is right what a shop asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from schemas.tasks import TaskName
from tasks.evaluate.report.background import Background
from tasks.report.number_format import decimal
from tasks.report.wording import worded

SAYINGS: Final[Mapping[TaskName, tuple[str, tuple[str, ...]]]] = {
    "extraction": ("Of {n} reviews, {exact} were read without any error", ("exact",)),
    "sql_qa": ("Of {n} questions, {execution_accuracy} were answered with the right result", ("execution_accuracy",)),
    "insights": (
        "Of {n} analyses, {no_false_claim} have no false finding and {all_kept} keep to all that was asked",
        ("no_false_claim", "all_kept"),
    ),
    "push": (
        "Of {n} pushes, {suits_the_campaign} suit product and offer and {all_kept} may be sent as they are",
        ("suits_the_campaign", "all_kept"),
    ),
    "sentiment": ("Of {n} reviews, the sentiment is right in {accuracy}", ("accuracy",)),
    "churn": ("Of {n} customers, the forecast of staying or leaving is right for {accuracy}", ("accuracy",)),
}
"""Of each task a sentence without its full stop, and the metrics that it names: shares of answers."""
WITHOUT_READING: Final = ("constant", "majority")
"""Baselines that give every prompt one answer: a rate that is not above theirs is at its floor."""


@dataclass(frozen=True)
class ShopLine:
    """A task's answers in words."""

    text: str
    floor: str
    """The rates at their floor; empty where all are above."""


def shop_lines(background: Background) -> list[ShopLine]:
    """Return a line for each task with known ground truth, in the order of the tasks."""
    found = []
    for task, (saying, metrics) in SAYINGS.items():
        answers, rates = background.known_answers.get(task, 0), background.ground_truth.get(task, {})
        if answers and all({"base", "tuned"} <= rates.get(metric, {}).keys() for metric in metrics):
            right = {metric: _counts(rates[metric], answers) for metric in metrics}
            found.append(_line(saying, answers, right))
    return found


def _counts(rates: Mapping[str, float], answers: int) -> dict[str, int]:
    return {model: round(rate * answers) for model, rate in rates.items()}


def _line(saying: str, answers: int, right: Mapping[str, Mapping[str, int]]) -> ShopLine:
    """Put a task's answers into words.

    Args:
        saying: Its sentence.
        answers: Answers of a model.
        right: Those among them that are right, by metric and model.
    """
    tuned = {metric: decimal(by_model["tuned"], 0) for metric, by_model in right.items()}
    base = ", ".join(decimal(by_model["base"], 0) for by_model in right.values())
    text = f"{worded(saying, n=decimal(answers, 0), **tuned)} {worded('(base: {counts})', counts=base)}"
    floors = [_floor(metric, by_model) for metric, by_model in right.items()]
    return ShopLine(text, "; ".join(filter(None, floors)))


def _floor(metric: str, right: Mapping[str, int]) -> str:
    """State why a rate is at its floor; empty where it is above."""
    name = worded(metric.replace("_", " "))
    if not right["tuned"]:
        return worded("{metric} is at its floor, 0", metric=name)
    constant = max((right[baseline] for baseline in WITHOUT_READING if baseline in right), default=0)
    if right["tuned"] > constant:
        return ""
    return worded(
        "{metric} is at its floor: one text for all has {constant}", metric=name, constant=decimal(constant, 0)
    )
