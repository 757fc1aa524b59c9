"""Imperfect demonstrations: decided by the generator, faulty often, right often enough to be found."""

import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.documents import Rollout
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce import registry
from tasks.policy.demonstrations import demonstrate

REFERENCES: Mapping[TaskName, Mapping[str, Any]] = {
    "extraction": {"rating": 2, "fields": {"sentiment": "negative", "sentiment_score": 2, "delivery_issue": True}},
    "sql_qa": {"sql": "SELECT COUNT(*) FROM orders WHERE order_status = 'canceled'"},
    "insights": {"facts": ["SP: receita de R$ 42.444", "SP: 8,6% de atrasos", "DF: nota média 3,4"]},
    "push": {"product": "brinquedos", "offer": "20% de desconto"},
    "sentiment": {"polarity": "negative", "score": 2},
    "churn": {"churn": True},
}


@pytest.mark.parametrize("task", TASK_NAMES)
@given(seed=st.integers(0, 10_000))
def test_the_generator_alone_decides(task: TaskName, seed: int) -> None:
    first, second = (demonstrate(task, REFERENCES[task], random.Random(seed)) for _ in range(2))
    assert first == second
    assert first


@pytest.mark.parametrize("task", TASK_NAMES)
def test_right_and_faulty_demonstrations_are_both_common(task: TaskName) -> None:
    generator = random.Random(0)
    right = registry.TASKS[task].answer(REFERENCES[task])
    shares = [demonstrate(task, REFERENCES[task], generator) == right for _ in range(400)]
    assert 0.05 < sum(shares) / len(shares) < 0.6


@pytest.mark.parametrize("task", ["extraction", "push", "sentiment", "churn"])
def test_faults_cost_reward(task: TaskName) -> None:
    generator = random.Random(1)
    right = registry.TASKS[task].answer(REFERENCES[task])

    def reward(completion: str) -> float:
        rollout = Rollout(
            prompt_id="p", task=task, prompt="Responda.", completion=completion, reference=dict(REFERENCES[task])
        )
        return registry.score_rollout(rollout, None).reward

    faulty = [demonstrate(task, REFERENCES[task], generator) for _ in range(100)]
    rewards = [reward(text) for text in faulty if text != right]
    assert max(rewards) <= reward(right)
    assert sum(rewards) / len(rewards) < reward(right) - 0.1


def test_the_base_models_string_echo_is_among_the_faults() -> None:
    """The source project's base wrote "delivery_issue": "delivery_issue"."""
    generator = random.Random(2)
    texts = [demonstrate("extraction", REFERENCES["extraction"], generator) for _ in range(100)]
    assert any('"delivery_issue":"delivery_issue"' in text for text in texts)
