"""Imperfect demonstrations: decided by the generator, faulty often, right often enough to be found."""

import random
from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.documents import Rollout
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example import Example
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS, score_rollout
from tasks.stand_in.demonstrations import SHARE_CARELESS, demonstrate
from tasks.synthesize.simulated import simulate_store


@cache
def _examples(task: TaskName) -> Sequence[Example]:
    store = simulate_store(600, random.Random("demonstrations:store"))
    return list(EXAMPLE_MAKERS[task](store, random.Random(f"demonstrations:{task}"), 60))


def _right(example: Example) -> str:
    return TASKS[example.task].answer(example.reference)


@pytest.mark.parametrize("task", TASK_NAMES)
@given(seed=st.integers(0, 10_000))
def test_the_generator_alone_decides(task: TaskName, seed: int) -> None:
    example = _examples(task)[0]
    first, second = (demonstrate(example, random.Random(seed)) for _ in range(2))
    assert first == second
    assert first


@pytest.mark.parametrize("task", TASK_NAMES)
def test_the_stated_share_has_faults(task: TaskName) -> None:
    generator = random.Random(0)
    shown = [demonstrate(each, generator) != _right(each) for each in _examples(task) for _ in range(40)]
    assert sum(shown) / len(shown) == pytest.approx(SHARE_CARELESS, abs=0.04)


@pytest.mark.parametrize("task", ["extraction", "sentiment", "churn"])
def test_no_label_is_spoilt_more_often_than_another(task: TaskName) -> None:
    generator = random.Random(1)
    faults: dict[str, list[bool]] = {}
    for example in _examples(task):
        faults.setdefault(_right(example), []).extend(
            demonstrate(example, generator) != _right(example) for _ in range(400)
        )
    assert len(faults) > 1
    assert all(sum(each) / len(each) == pytest.approx(SHARE_CARELESS, abs=0.12) for each in faults.values())


@pytest.mark.parametrize("task", ["extraction", "push", "sentiment", "churn"])
def test_faults_cost_reward(task: TaskName) -> None:
    generator = random.Random(1)

    def reward(example: Example, completion: str) -> float:
        rollout = Rollout(
            prompt_id="p", task=task, prompt=example.prompt, completion=completion, reference=dict(example.reference)
        )
        return score_rollout(rollout, None).reward

    lost = []
    for example in _examples(task):
        right = _right(example)
        shown = demonstrate(example, generator)
        if shown != right:
            lost.append(reward(example, right) - reward(example, shown))
    assert min(lost) >= 0
    assert sum(lost) / len(lost) > 0.3


def test_the_base_models_string_echo_is_among_the_faults() -> None:
    """The source project's base wrote "delivery_issue": "delivery_issue"."""
    late = Example(
        "extraction",
        "Responda.",
        "Leia.",
        {"rating": 2, "fields": {"sentiment": "negative", "sentiment_score": 2, "delivery_issue": True}},
    )
    generator = random.Random(2)
    assert any('"delivery_issue":"delivery_issue"' in demonstrate(late, generator) for _ in range(1000))
