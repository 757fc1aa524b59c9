from typing import Any

import pytest
from pydantic import ValidationError

from schemas.documents import Rollout
from schemas.tasks import TASK_NAMES, TaskName

SHAPES: dict[TaskName, dict[str, Any]] = {
    "extraction": {"rating": 2, "fields": {"sentiment": "negative", "churn_risk": 0.8, "delivery_issue": True}},
    "sql_qa": {"sql": "SELECT COUNT(*) FROM orders"},
    "insights": {"facts": ["SP: receita de R$ 10", 4, 4.5]},
    "push": {"product": "brinquedos", "offer": "frete grátis"},
    "sentiment": {"polarity": "neutral", "score": 3},
    "churn": {"churn": False},
}


def rollout(task: TaskName, reference: Any) -> Rollout:
    return Rollout(prompt_id="p", task=task, prompt="", completion="", reference=reference)


@pytest.mark.parametrize("task", TASK_NAMES)
def test_a_reference_without_one_of_its_keys_is_refused(task: TaskName) -> None:
    for key in SHAPES[task]:
        with pytest.raises(ValidationError, match=f"reference of {task}: {key} is missing"):
            rollout(task, {name: value for name, value in SHAPES[task].items() if name != key})
