"""The figures that the claim of the training benchmark rests on."""

from typing import Any

import pytest

from benchmarks.training.arms import Outcome, Scored
from benchmarks.training.figures import difference, mean_curve, mean_on_test


def _outcome(curve: dict[int, float], **rewards: tuple[str, float]) -> Outcome:
    test: dict[str, Any] = {
        prompt: Scored(task=task, reward=reward, truth=reward / 2) for prompt, (task, reward) in rewards.items()
    }
    return Outcome(seconds=1.0, tokens=1, curve=curve, chosen_step=max(curve), test=test)


BEFORE = _outcome({0: 0.1, 4: 0.3}, a=("push", 0.2), b=("push", 0.4), c=("churn", 0.5))
AFTER = _outcome({0: 0.1, 4: 0.5}, a=("push", 0.4), b=("push", 0.6), c=("churn", 0.9))


def test_a_difference_is_paired_and_of_tasks() -> None:
    found = difference([AFTER], [BEFORE], "reward")
    assert found.mean == pytest.approx((0.2 + 0.4) / 2)
    # Within a task all prompts differ alike, so that resampling them changes nothing.
    assert [found.low, found.high] == pytest.approx([0.3, 0.3])
    assert difference([AFTER], [BEFORE], "truth").mean == pytest.approx(0.15)


def test_seeds_that_disagree_widen_the_interval() -> None:
    found = difference([AFTER, BEFORE, AFTER], [BEFORE, AFTER, BEFORE], "reward")
    assert found.mean == pytest.approx(0.1)
    assert found.low < 0 < found.high


def test_one_task_is_compared_by_itself() -> None:
    found = difference([AFTER], [BEFORE], "reward", "churn")
    assert [found.mean, found.low, found.high] == pytest.approx([0.4] * 3)
    assert mean_on_test([AFTER], "reward", "push") == pytest.approx(0.5)
    assert mean_on_test([AFTER], "reward") == pytest.approx(0.7)


def test_a_curve_is_the_mean_of_the_seeds() -> None:
    assert mean_curve([BEFORE, AFTER]) == {0: pytest.approx(0.1), 4: pytest.approx(0.4)}
