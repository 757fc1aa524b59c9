"""The figures that the claim of the training benchmark rests on."""

from typing import Any

import pytest

from benchmarks.training.arms import Outcome, Point, Scored
from benchmarks.training.figures import difference, final_validation, first_step, mean_curve


def _outcome(curve: dict[int, float], **rewards: tuple[str, float]) -> Outcome:
    test: dict[str, Any] = {
        prompt: Scored(task=task, reward=reward, truth=reward / 2) for prompt, (task, reward) in rewards.items()
    }
    points = [Point(step=step, reward=reward, truths={}) for step, reward in curve.items()]
    return Outcome(seconds=1.0, curve=points, chosen_step=max(curve), test=test)


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


def test_the_first_step_that_gets_there_is_found_in_the_mean_curve() -> None:
    curve = mean_curve([BEFORE, AFTER])
    assert curve == {0: pytest.approx(0.1), 4: pytest.approx(0.4)}
    assert final_validation([BEFORE, AFTER]) == pytest.approx(0.4)
    assert first_step(curve, 0.39) == 4
    assert first_step(curve, 0.05) == 4
    assert first_step(curve, 0.41) is None
