"""Ground truth in the shop's terms: of so many answers, in how many is right what a shop asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from schemas.tasks import TaskName
from tasks.evaluate.report.background import Background
from tasks.report.number_format import decimal
from tasks.report.wording import worded

SAYINGS: Final[Mapping[TaskName, Mapping[str, str]]] = {
    "extraction": {"exact": "Of {n} reviews, {right} were read without any error"},
    "sql_qa": {"execution_accuracy": "Of {n} questions, {right} were answered with the right result"},
    "insights": {
        "no_false_number": "Of {n} analyses, {right} have no false number",
        "all_kept": "Of {n} analyses, {right} keep to all that was asked",
    },
    "push": {
        "names_product": "Of {n} pushes, {right} name the product",
        "names_offer": "Of {n} pushes, {right} keep the offer",
    },
    "sentiment": {"accuracy": "Of {n} reviews, {right} have the right sentiment"},
    "churn": {"accuracy": "Of {n} customers, {right} are rightly told as staying or leaving"},
}
"""Of each task the shares of answers that a shop asks for, by metric, each in a sentence without its full stop."""
WITHOUT_READING: Final = ("constant", "majority")
"""Baselines that give every prompt one answer: a rate that is not above theirs is at its floor."""


@dataclass(frozen=True)
class ShopLine:
    """One share of a task's answers in words."""

    task: TaskName
    text: str
    floor: str
    """Why the rate is at its floor; empty where it is above."""


def shop_lines(background: Background) -> list[ShopLine]:
    """Return a line for each known share, in the order of the tasks; none without ground truth."""
    return [
        _line(task, saying, background.known_answers[task], rates)
        for task, sayings in SAYINGS.items()
        if background.known_answers.get(task)
        for metric, saying in sayings.items()
        if {"base", "tuned"} <= (rates := background.ground_truth.get(task, {}).get(metric, {})).keys()
    ]


def _line(task: TaskName, saying: str, answers: int, rates: Mapping[str, float]) -> ShopLine:
    """Put one share into words.

    Args:
        task: The task.
        saying: Its sentence.
        answers: Answers that the rates are shares of.
        rates: By model.
    """
    right = {model: round(rate * answers) for model, rate in rates.items()}
    text = worded(saying, n=decimal(answers, 0), right=decimal(right["tuned"], 0))
    text = f"{text} {worded('(base: {base})', base=decimal(right['base'], 0))}"
    if not right["tuned"]:
        return ShopLine(task, text, worded("at the floor: none"))
    chance = max((right[name] for name in WITHOUT_READING if name in right), default=0)
    if right["tuned"] > chance:
        return ShopLine(task, text, "")
    return ShopLine(task, text, worded("at the floor: one answer to all has {n}", n=decimal(chance, 0)))
