"""What a bound refuses, and what an alteration makes of texts that nobody expects."""

import math
from itertools import product

import pytest

from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.alterations.bounds import EQUAL, Bound
from tasks.audit.alterations.library import GoodAnswer
from tasks.audit.alterations.run import ALTERATIONS


@pytest.mark.parametrize(
    ("bound", "kept", "missed"),
    [
        (Bound("at most", 0.15), (0.15, 1.0), (0.16, 1.0)),
        (Bound("at least", 0.9), (0.9, 1.0), (0.89, 1.0)),
        (Bound("at most of", 0.5), (0.4, 0.8), (0.41, 0.8)),
        (Bound("at least of", 0.5), (0.4, 0.8), (0.39, 0.8)),
        (Bound("costs", 0.05), (0.75, 0.8), (0.76, 0.8)),
        (EQUAL, (0.8, 0.8), (0.81, 0.8)),
        (EQUAL, (0.8, 0.8), (0.79, 0.8)),
        (Bound("equal", 0.04), (0.84, 0.8), (0.85, 0.8)),
    ],
)
def test_bounds(bound: Bound, kept: tuple[float, float], missed: tuple[float, float]) -> None:
    assert bound.excess(*kept) <= 1e-9
    assert bound.excess(*missed) > 1e-3
    assert bound.excess(math.nan, 1.0) == math.inf


@pytest.mark.parametrize("task", TASK_NAMES)
def test_no_alteration_raises_whatever_the_answer_is(task: TaskName) -> None:
    texts = ("", "{}", "[1]", "null", "[" * 4_000, '{"achados":3}', '{"achados":[3]}', "\ud800", "'; --")
    references: tuple[dict[str, object], ...] = ({}, {"fields": None}, {"facts": ["a | b | c"]})
    for text, reference, each in product(texts, references, ALTERATIONS[task]):
        assert isinstance(each.apply(GoodAnswer(task, "Loja\nA | B\n1 | 2", reference, text)), str | None)
