"""A version answers the tasks that its evaluation found learned by the tuned model."""

from dataclasses import asdict

import pytest

from schemas.tasks import TASK_NAMES
from tasks.evaluate.claims import Floor, TaskClaim
from tasks.serve.served_model import unlearned_tasks


@pytest.mark.parametrize(
    ("tuned", "verdict", "found"),
    [(0.5, "not learned", "auc"), (0.5, "below floor", "auc"), (0.7, "worse", ""), (0.7, "no better", "")],
)
def test_what_is_below_its_floor_or_was_not_asked_is_not_learned(tuned: float, verdict: str, found: str) -> None:
    claim = TaskClaim(floors=(Floor("auc", 0.6, 0.5, tuned), Floor("accuracy", 0.1, 0.5, 0.5)))
    report = {"tasks": {"churn": {"verdict": verdict}}, "claims": {"churn": asdict(claim)}}
    unlearned = unlearned_tasks(report)
    assert unlearned.pop("churn", "").partition(" ")[0] == found
    assert set(unlearned) == set(TASK_NAMES) - {"churn"}
