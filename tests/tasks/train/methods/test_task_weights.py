"""MT-GRPO's task weights against a calculation by hand, and its sampler against the shares it must keep."""

import json
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


def _difference(weights: TaskWeights) -> float:
    """Return xi of push less xi of churn: all of xi that z tells."""
    shares = weights.shares()
    return math.log(shares["push"] / shares["churn"])


def test_two_windows_by_hand() -> None:
    """J goes from (.5, .3) to (.7, .3), each the mean of two steps.

    I = (.2, 0), s = (.2 + .2 x .7, .2 x .3) = (.34, .06), z = (.5, .5), the mean of s is .2.
    xi = (-.025 x .5 x .14, -.025 x .5 x -.14) = (-.00175, .00175).
    """
    weights = _after(
        {"push": 0.4, "churn": 0.3}, {"push": 0.6}, {"push": 0.7, "churn": 0.2}, {"push": 0.7, "churn": 0.4}, every=2
    )
    state = weights.state_dict()
    assert state["xi"] == pytest.approx({"push": -0.00175, "churn": 0.00175})
    share = 1 / (1 + math.exp(0.0035))
    assert weights.shares() == pytest.approx({"push": share, "churn": 1 - share})
    assert weights.loss_weights() == pytest.approx({"push": 2 * share, "churn": 2 - 2 * share})


def test_a_task_that_a_window_has_not_seen_keeps_its_reward_and_has_not_improved() -> None:
    first: dict[TaskName, float] = {"push": 0.5, "churn": 0.3}
    seen: dict[TaskName, float] = {"push": 0.6, "churn": 0.3}
    assert _difference(_after(first, {"push": 0.6})) == pytest.approx(_difference(_after(first, seen)))
    # Seen again, its improvement is taken from where it was last seen.
    again: dict[TaskName, float] = {"push": 0.6, "churn": 0.4}
    assert _difference(_after(first, {"push": 0.6}, again)) == pytest.approx(_difference(_after(first, seen, again)))


def test_a_task_that_was_never_seen_stays_as_it_is() -> None:
    weights = TaskWeights(("push", "churn", "sql_qa"), every=1)
    for reward in (0.2, 0.6):
        weights.observe({"push": reward, "churn": 0.4}, {})
    xi = weights.state_dict()["xi"]
    assert xi["sql_qa"] == 0.0
    # s = (.4 + .12, .08), mean .3, z = 1/3.
    assert xi["push"] == pytest.approx(-0.025 / 3 * 0.22)
    assert xi["churn"] == pytest.approx(0.025 / 3 * 0.22)


@given(steps=STEPS, rate=st.floats(0, 50))
def test_shares_sum_to_one_and_factors_have_mean_one(steps: list[dict[TaskName, float]], rate: float) -> None:
    weights = TaskWeights(TASK_NAMES, every=3, rate=rate)
    for step in steps:
        weights.observe(step, step)
    shares = weights.shares()
    assert all(share > 0 for share in shares.values())
    assert math.fsum(shares.values()) == pytest.approx(1.0, abs=1e-12)
    assert math.fsum(weights.loss_weights().values()) == pytest.approx(len(TASK_NAMES), abs=1e-11)


@settings(deadline=None)
@given(steps=STEPS, calls=CALLS)
def test_prompts_are_as_many_as_asked_and_within_one_of_the_shares_at_any_time(
    steps: list[dict[TaskName, float]], calls: list[int]
) -> None:
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


@settings(deadline=None)
@given(steps=STEPS)
def test_no_task_is_a_prompt_ahead_though_the_shares_change(steps: list[dict[TaskName, float]]) -> None:
    weights = TaskWeights(TASK_NAMES, every=1, rate=20)
    dealt, due = Counter[TaskName](), dict.fromkeys(TASK_NAMES, 0.0)
    for step in steps:
        weights.observe(step, {})
        for task, share in weights.shares().items():
            due[task] += 3 * share
        dealt.update(weights.prompts_by_task(3))
        assert all(dealt[task] - due[task] < 1 for task in TASK_NAMES)


@pytest.mark.parametrize(("zero", "push"), [(0.0, 300), (0.5, 400), (0.75, 480), (0.8, 500), (1.0, 500)])
def test_groups_without_a_gradient_are_made_up_for_up_to_five_times(zero: float, push: int) -> None:
    """Of 600 prompts at equal shares, push gets f / (f + 1) with f = min(1 / (1 - zero), 5)."""
    weights = TaskWeights(TWO, every=2)
    weights.observe({"push": 0.5, "churn": 0.5}, {"push": zero, "churn": 0.0})
    weights.observe({"push": 0.5}, {"push": zero})
    assert weights.shares() == {"push": 0.5, "churn": 0.5}
    assert weights.prompts_by_task(600)["push"] == pytest.approx(push, abs=1)


@settings(deadline=None)
@given(steps=STEPS, data=st.data())
def test_a_resumed_run_weighs_and_deals_as_an_uninterrupted_one(
    steps: list[dict[TaskName, float]], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(steps)))
    uninterrupted, weights = (TaskWeights(TASK_NAMES, every=3, rate=5) for _ in range(2))
    for number, step in enumerate(steps):
        if number == cut:
            state = json.loads(json.dumps(weights.state_dict(), sort_keys=True))
            weights = TaskWeights(TASK_NAMES, every=3, rate=5)
            weights.load_state_dict(state)
        for each in (uninterrupted, weights):
            each.observe(step, step)
        assert weights.prompts_by_task(4) == uninterrupted.prompts_by_task(4)
    assert weights.shares() == uninterrupted.shares()
    assert weights.state_dict() == uninterrupted.state_dict()


def test_the_state_of_other_tasks_is_refused() -> None:
    with pytest.raises(InputError, match="weighed the tasks churn, push and this run has churn, sql_qa"):
        TaskWeights(("churn", "sql_qa"), every=1).load_state_dict(TaskWeights(TWO, every=1).state_dict())
