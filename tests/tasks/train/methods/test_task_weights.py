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


def test_a_third_window_weighs_by_the_shares_it_finds() -> None:
    """A rate of 8 makes the shares unequal: s of window 2 is (.34, .06), so xi = (-.56, .56) and z = (.2460, .7540).

    Window 3 has J = (.7, .5): I = (0, .2), s = (.14, .3), the mean .2460 x .14 + .7540 x .3 = .2606.
    xi_push = -.56 - 8 x .2460 x (.14 - .2606) = -.3226, xi_churn = .56 - 8 x .7540 x (.3 - .2606) = .3226.
    """
    weights = _after({"push": 0.5, "churn": 0.3}, {"push": 0.7, "churn": 0.3}, {"push": 0.7, "churn": 0.5}, rate=8.0)
    assert weights.state_dict()["xi"] == pytest.approx({"push": -0.3226, "churn": 0.3226}, abs=1e-4)


def test_shares_are_equal_until_an_improvement_can_be_known() -> None:
    assert _after().shares() == {"push": 0.5, "churn": 0.5}
    assert _after({"push": 0.9, "churn": 0.1}).shares() == {"push": 0.5, "churn": 0.5}
    unfinished = _after({"push": 0.9, "churn": 0.1}, {"push": 0.9, "churn": 0.1}, {"push": 1.0}, every=2)
    assert unfinished.shares() == {"push": 0.5, "churn": 0.5}


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


def test_a_task_that_is_seen_for_the_first_time_has_not_improved_yet() -> None:
    """Its first reward is no improvement on 0: s = (.2 x .4, .2 x .5), the mean of s is .09."""
    xi = _after({"push": 0.4}, {"push": 0.4, "churn": 0.5}).state_dict()["xi"]
    assert xi == pytest.approx({"push": 0.025 / 2 * 0.01, "churn": -0.025 / 2 * 0.01})


def test_low_reward_and_little_improvement_both_raise_a_share() -> None:
    """The sign: a task that lags gets more, though it earns less."""
    lagging = _after({"push": 0.9, "churn": 0.2}, {"push": 0.9, "churn": 0.2}).shares()
    assert lagging["churn"] > lagging["push"]
    stagnating = _after({"push": 0.1, "churn": 0.5}, {"push": 0.5, "churn": 0.5}).shares()
    assert stagnating["churn"] > stagnating["push"]


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


def test_shares_that_largest_remainders_cannot_keep_are_kept() -> None:
    """The task that is furthest behind, call after call: one of these six would once be 1.15 prompts behind."""
    shares = dict(zip(TASK_NAMES, (0.00119, 0.42260, 0.00877, 0.03177, 0.46803, 0.06764), strict=True))
    weights = TaskWeights(TASK_NAMES, every=1)
    state = weights.state_dict()
    weights.load_state_dict(state | {"xi": {task: math.log(share) for task, share in shares.items()}})
    dealt = Counter[TaskName]()
    for total in range(1, 400):
        dealt.update(weights.prompts_by_task(1))
        assert all(abs(dealt[task] - total * share) < 1 for task, share in shares.items())


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


def test_equal_shares_take_turns() -> None:
    weights = TaskWeights(TWO, every=1)
    assert [weights.prompts_by_task(1)["push"] for _ in range(6)] == [1, 0, 1, 0, 1, 0]
    assert TaskWeights(("push",), every=1).prompts_by_task(3) == {"push": 3}


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


def test_a_state_does_not_change_after_it_was_taken() -> None:
    weights = _after({"push": 0.5}, every=3)
    before = json.dumps(state := weights.state_dict())
    for _ in range(4):
        weights.observe({"push": 0.7, "churn": 0.1}, {"push": 0.5})
        weights.prompts_by_task(1)
    assert json.dumps(state) == before


def test_the_state_of_other_tasks_is_refused() -> None:
    with pytest.raises(InputError, match="weighed the tasks churn, push and this run has churn, sql_qa"):
        TaskWeights(("churn", "sql_qa"), every=1).load_state_dict(TaskWeights(TWO, every=1).state_dict())
