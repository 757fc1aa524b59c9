"""Guided correction: which rollouts are replaced, and that what replaces them is right."""

from collections.abc import Mapping
from typing import Any

import pytest

from schemas.tables.prompts import PromptRow, content_id
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import TASKS
from tasks.train.methods.guided_correction import choose_corrections, reference_answer

FIELDS: Mapping[str, Any] = {
    "sentiment": "negative",
    "sentiment_score": 2,
    "churn_risk": 0.0,
    "delivery_issue": True,
    "product_issue": False,
    "seller_issue": False,
    "main_complaint": "",
    "complaint_category": "delivery",
    "repeat_intent": False,
    "would_recommend": False,
}


def _row(task: TaskName, reference: Mapping[str, Any]) -> PromptRow:
    identity = content_id(task, "s", "p", reference)
    return PromptRow(identity, task, "s", "p", reference, "simulated", None, None, None)


def _choose(rewards: list[list[float]], share: float = 1.0, step: int = 0, seed: int = 0) -> list[tuple[int, int]]:
    return choose_corrections(rewards, share=share, threshold=0.5, seed=seed, draw=step)


def test_the_worst_rollout_of_a_group_without_a_right_one_is_replaced_the_last_of_equals() -> None:
    assert _choose([[0.4, 0.1, 0.3], [0.2, 0.1, 0.1], [0.0, 0.5], [0.49, 0.49]]) == [(0, 1), (1, 2), (3, 1)]


def test_seed_and_step_decide_and_other_groups_do_not() -> None:
    hopeless = [[0.0, 0.0] for _ in range(64)]
    assert _choose(hopeless, 0.5, 3) == _choose(hopeless, 0.5, 3)
    assert _choose(hopeless, 0.5, 3) != _choose(hopeless, 0.5, 4)
    assert _choose(hopeless, 0.5, 3, seed=1) != _choose(hopeless, 0.5, 3, seed=2)
    some_right = [[1.0, 0.0] if group % 2 else [0.0, 0.0] for group in range(64)]
    assert _choose(some_right, 0.5, 3) == [pair for pair in _choose(hopeless, 0.5, 3) if pair[0] % 2 == 0]


@pytest.mark.parametrize("task", TASK_NAMES)
@pytest.mark.parametrize("unknown", [None, "missing"])
def test_nothing_is_made_up_where_the_reference_does_not_tell(task: TaskName, unknown: str | None) -> None:
    """What a reference does not know is not scored, so a guess would earn everything and be learnt."""
    references: Mapping[TaskName, Mapping[str, Any]] = {
        "sql_qa": {"sql": "SELECT 1"},
        "insights": {"facts": ["SP: nota média 4,1"]},
        "push": {"product": "brinquedos", "offer": "frete grátis"},
        "sentiment": {"polarity": "negative", "score": 1},
        "churn": {"churn": False},
    }
    known = FIELDS if task == "extraction" else references[task]
    whole = {"rating": None, "fields": known} if task == "extraction" else known
    assert reference_answer(_row(task, whole)) == TASKS[task].answer(whole)
    for part in known:
        less = {name: value for name, value in known.items() if name != part or unknown is None}
        if unknown is None:
            less[part] = None
        assert reference_answer(_row(task, {"rating": 2, "fields": less} if task == "extraction" else less)) is None
