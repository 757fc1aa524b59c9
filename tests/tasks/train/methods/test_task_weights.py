"""MT-GRPO's task weights against a calculation by hand, and its sampler against the shares it must keep."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName
from tasks.train.methods.task_weights import TaskWeights

TWO: tuple[TaskName, ...] = ("push", "churn")
FRACTIONS = st.floats(0, 1)
STEPS = st.lists(st.dictionaries(st.sampled_from(TASK_NAMES), FRACTIONS, max_size=4), max_size=40)
CALLS = st.lists(st.integers(0, 7), min_size=1, max_size=40)


def _after(*steps: dict[TaskName, float], every: int = 1, rate: float = 0.025) -> TaskWeights:
    weights = TaskWeights(TWO, every=every, rate=rate)
    for step in steps:
        weights.observe(step, {})
    return weights


def test_two_windows_by_hand() -> None:
    """J goes from (.5, .3) to (.7, .3), each the mean of two steps.

    I = (.2, 0), s = (.2 + .2 x .7, .2 x .3) = (.34, .06), z = (.5, .5), the mean of s is .2.
    xi = (-.025 x .5 x .14, -.025 x .5 x -.14) = (-.00175, .00175).
    """
    weights = _after(
        {"push": 0.4, "churn": 0.3}, {"push": 0.6}, {"push": 0.7, "churn": 0.2}, {"push": 0.7, "churn": 0.4}, every=2
    )
    assert weights.state_dict()["xi"] == pytest.approx({"push": -0.00175, "churn": 0.00175})
    share = 1 / (1 + math.exp(0.0035))
    assert weights.shares() == pytest.approx({"push": share, "churn": 1 - share})
    assert weights.loss_weights() == pytest.approx({"push": 2 * share, "churn": 2 - 2 * share})


@settings(deadline=None, max_examples=50)
@given(steps=STEPS, calls=CALLS)
def test_prompts_are_always_within_one_of_the_shares(steps: list[dict[TaskName, float]], calls: list[int]) -> None:
    weights = TaskWeights(TASK_NAMES, every=3, rate=20)
    for step in steps:
        weights.observe(step, {})
    shares, dealt, total = weights.shares(), Counter[TaskName](), 0
    for count in calls:
        counts = weights.prompts_by_task(count)
        assert set(counts) == set(TASK_NAMES)
        assert min(counts.values()) >= 0
        assert sum(counts.values()) == count
        dealt.update(counts)
        total += count
        assert all(abs(dealt[task] - total * shares[task]) < 1 for task in TASK_NAMES)


@pytest.mark.parametrize(("zero", "push"), [(0.0, 300), (0.5, 400), (0.75, 480), (0.8, 500), (1.0, 500)])
def test_groups_without_a_gradient_are_made_up_for_up_to_five_times(zero: float, push: int) -> None:
    """Of 600 prompts at equal shares, push gets f / (f + 1) with f = min(1 / (1 - zero), 5)."""
    weights = TaskWeights(TWO, every=2)
    weights.observe({"push": 0.5, "churn": 0.5}, {"push": zero, "churn": 0.0})
    weights.observe({"push": 0.5}, {"push": zero})
    assert weights.shares() == {"push": 0.5, "churn": 0.5}
    assert weights.prompts_by_task(600)["push"] == pytest.approx(push, abs=1)


def test_the_state_of_other_tasks_is_refused() -> None:
    with pytest.raises(InputError, match="weighed the tasks churn, push and this run has churn, sql_qa"):
        TaskWeights(("churn", "sql_qa"), every=1).load_state_dict(TaskWeights(TWO, every=1).state_dict())
