"""The figures that the claim of the training benchmark rests on."""

import pytest

from benchmarks.training.arms import Outcome, Scored
from benchmarks.training.figures import difference, mean_on_test
from schemas.tasks import TaskName


def _outcome(**rewards: tuple[TaskName, float]) -> Outcome:
    return Outcome(1.0, 1, {}, {prompt: Scored(task, reward, reward / 2) for prompt, (task, reward) in rewards.items()})


BEFORE = _outcome(a=("push", 0.2), b=("push", 0.4), c=("churn", 0.5))
AFTER = _outcome(a=("push", 0.4), b=("push", 0.6), c=("churn", 0.9))


def test_a_difference_is_paired_and_of_tasks_or_of_one() -> None:
    found = difference([AFTER], [BEFORE], "reward")
    assert found.mean == pytest.approx((0.2 + 0.4) / 2)
    # Within a task all prompts differ alike, so that resampling them changes nothing.
    assert [found.low, found.high] == pytest.approx([0.3, 0.3])
    assert difference([AFTER], [BEFORE], "truth").mean == pytest.approx(0.15)
    churn = difference([AFTER], [BEFORE], "reward", "churn")
    assert [churn.mean, churn.low, churn.high] == pytest.approx([0.4] * 3)
    assert [mean_on_test([AFTER], "reward", "push"), mean_on_test([AFTER], "reward")] == pytest.approx([0.5, 0.7])


def test_seeds_that_disagree_widen_the_interval() -> None:
    found = difference([AFTER, BEFORE, AFTER], [BEFORE, AFTER, BEFORE], "reward")
    assert found.mean == pytest.approx(0.1)
    assert found.low < 0 < found.high
