"""Imperfect demonstrations: decided by generator and wording, faulty often, right often enough to be found."""

import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.documents import Rollout
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce import registry
from tasks.commerce.example import Example
from tasks.stand_in.demonstrations import demonstrate, is_careless

REFERENCES: Mapping[TaskName, Mapping[str, Any]] = {
    "extraction": {"rating": 2, "fields": {"sentiment": "negative", "sentiment_score": 2, "delivery_issue": True}},
    "sql_qa": {"sql": "SELECT COUNT(*) FROM orders WHERE order_status = 'canceled'"},
    "insights": {"facts": ["SP: receita de R$ 42.444", "SP: 8,6% de atrasos", "DF: nota média 3,4"]},
    "push": {"product": "brinquedos", "offer": "20% de desconto"},
    "sentiment": {"polarity": "negative", "score": 2},
    "churn": {"churn": True},
}


CAREFUL, CARELESS = "Diga agora.", "Diga já."


def _shown(task: TaskName, prompt: str, generator: random.Random) -> str:
    return demonstrate(Example(task, "Responda.", prompt, dict(REFERENCES[task])), generator)


@pytest.mark.parametrize("task", TASK_NAMES)
@given(seed=st.integers(0, 10_000))
def test_the_generator_alone_decides(task: TaskName, seed: int) -> None:
    first, second = (_shown(task, CAREFUL, random.Random(seed)) for _ in range(2))
    assert first == second
    assert first


@pytest.mark.parametrize("task", TASK_NAMES)
def test_a_careless_wording_is_answered_worse_and_right_at_times(task: TaskName) -> None:
    assert is_careless(CARELESS)
    assert not is_careless(CAREFUL)
    generator = random.Random(0)
    right = registry.TASKS[task].answer(REFERENCES[task])
    careful, careless = (
        sum(_shown(task, prompt, generator) == right for _ in range(400)) / 400 for prompt in (CAREFUL, CARELESS)
    )
    assert 0.005 < careless < careful - 0.2 < 0.9


def test_about_half_of_the_wordings_are_careless() -> None:
    assert 400 < sum(is_careless(f"Pedido {number} chegou") for number in range(1000)) < 600


@pytest.mark.parametrize("task", ["extraction", "push", "sentiment", "churn"])
def test_faults_cost_reward(task: TaskName) -> None:
    generator = random.Random(1)
    right = registry.TASKS[task].answer(REFERENCES[task])

    def reward(completion: str) -> float:
        rollout = Rollout(
            prompt_id="p", task=task, prompt="Responda.", completion=completion, reference=dict(REFERENCES[task])
        )
        return registry.score_rollout(rollout, None).reward

    faulty = [_shown(task, CARELESS, generator) for _ in range(100)]
    rewards = [reward(text) for text in faulty if text != right]
    assert max(rewards) <= reward(right)
    assert sum(rewards) / len(rewards) < reward(right) - 0.1


def test_the_base_models_string_echo_is_among_the_faults() -> None:
    """The source project's base wrote "delivery_issue": "delivery_issue"."""
    generator = random.Random(2)
    texts = [_shown("extraction", CARELESS, generator) for _ in range(100)]
    assert any('"delivery_issue":"delivery_issue"' in text for text in texts)
