"""Imperfect demonstrations: decided by generator and answer, faulty often, right often enough to be found."""

import random
from collections.abc import Mapping, Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.documents import Rollout
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example import Example
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS, score_rollout
from tasks.stand_in.lessons import SHARES, demonstrate, is_careless
from tasks.synthesize.simulated import simulate_store

DRAWS = 40
BY_KIND = ("sql_qa",)


@cache
def _halves(task: TaskName) -> Mapping[bool, Sequence[Example]]:
    """Examples of a simulated store, those answered carefully and those answered carelessly."""
    store = simulate_store(600, random.Random("demonstrations:store"))
    halves: dict[bool, list[Example]] = {True: [], False: []}
    for example in EXAMPLE_MAKERS[task](store, random.Random(f"demonstrations:{task}"), 60):
        halves[is_careless(_right(example))].append(example)
    return halves


def _shown(example: Example, generator: random.Random) -> str:
    return demonstrate(TASKS[example.task], example, generator)


def _examples(task: TaskName) -> Sequence[Example]:
    return [example for half in _halves(task).values() for example in half]


def _right(example: Example) -> str:
    return TASKS[example.task].answer(example.reference)


def _share_right(examples: Sequence[Example]) -> float:
    generator = random.Random(0)
    shown = [_shown(each, generator) == _right(each) for each in examples for _ in range(DRAWS)]
    return sum(shown) / len(shown)


@pytest.mark.parametrize("task", TASK_NAMES)
@given(seed=st.integers(0, 10_000))
def test_the_generator_alone_decides(task: TaskName, seed: int) -> None:
    example = _halves(task)[True][0]
    first, second = (_shown(example, random.Random(seed)) for _ in range(2))
    assert first == second
    assert first


def test_each_task_is_faulty_by_kind_or_evenly() -> None:
    assert {*SHARES, *BY_KIND} == set(TASK_NAMES)
    assert not set(SHARES) & set(BY_KIND)


@pytest.mark.parametrize("task", BY_KIND)
def test_a_task_has_answers_of_both_halves(task: TaskName) -> None:
    halves = _halves(task)
    assert 0.25 < len(halves[True]) / (len(halves[True]) + len(halves[False])) < 0.75


@pytest.mark.parametrize("task", BY_KIND)
def test_a_careless_answer_is_seldom_right_and_a_careful_one_mostly(task: TaskName) -> None:
    halves = _halves(task)
    assert 0.01 < _share_right(halves[True]) < 0.35
    assert 0.8 < _share_right(halves[False]) < 0.95


@pytest.mark.parametrize("task", SHARES)
def test_a_fault_says_nothing_of_the_right_label(task: TaskName) -> None:
    """Where one label had more faults, GRPO would avoid the label for them."""
    halves = _halves(task)
    shares = [_share_right(halves[half]) for half in (True, False)]
    assert shares[0] == pytest.approx(shares[1], abs=0.08)
    # A fault may leave the answer as it is: a product of no group has general openers alone, a decision one reason.
    most = 0.45 if task in ("push", "churn") else 0.35
    assert all(1 - SHARES[task] - 0.08 < share < most for share in shares)


@pytest.mark.parametrize("task", ["extraction", "sentiment"])
def test_most_faults_in_json_are_a_trailing_comma(task: TaskName) -> None:
    generator = random.Random(4)
    shown = [_shown(each, generator) for each in _examples(task) for _ in range(DRAWS)]
    assert 0.55 < sum(answer.endswith(",}") for answer in shown) / len(shown) < 0.72


@pytest.mark.parametrize("task", SHARES)
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
        shown = _shown(example, generator)
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
    assert any('"delivery_issue":"delivery_issue"' in _shown(late, generator) for _ in range(1000))
