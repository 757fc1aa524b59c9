"""What production is compared with: the evaluation at first, surer with each day that keeps its promise."""

import numpy as np
import pytest

from tasks.monitor.reference import MixedMean, Promise, reference_of
from tests.tasks.monitor.reward_days import counts


def reference(means: dict[str, list[float | None]], error: float = 0.05, promised: float = 0.6) -> MixedMean:
    size = len(means)
    promise = Promise(np.full(size, promised), np.full(size, error), np.full(size, 16.0))
    return reference_of(promise, counts(means))


def test_for_a_fall_from_the_first_day_on_only_the_evaluation_counts() -> None:
    found = reference({"push": [0.5, 0.5, 0.5]})
    assert found.mean[0] == pytest.approx([0.6] * 3)
    assert found.error[0] == pytest.approx([0.05] * 3)
    assert found.freedom[0] == pytest.approx([16.0] * 3)


def test_days_that_keep_the_promise_make_it_surer() -> None:
    found = reference({"push": [0.6] * 8})
    assert found.mean == pytest.approx(np.full((8, 8), 0.6), abs=0.001)
    assert (np.diff(found.error[:, -1]) < 0).all()
    assert found.error[7, 7] < 0.01
    assert found.freedom[7, 7] > 100


def test_days_that_fall_short_show_an_evaluation_that_was_lucky() -> None:
    found = reference({"push": [0.5] * 8})
    assert found.mean[7, 7] == pytest.approx(0.5, abs=0.01)


def test_days_that_are_better_than_promised_ask_no_more_of_later_ones() -> None:
    found = reference({"push": [0.7] * 8})
    assert found.mean.max() == pytest.approx(0.6)


def test_a_day_is_compared_with_its_own_mix_of_tasks() -> None:
    promise = Promise(np.array([0.8, 0.4]), np.array([0.03, 0.04]), np.array([16.0, 16.0]))
    found = reference_of(promise, counts({"push": [0.5, None, 0.5], "churn": [None, 0.5, 0.5]}))
    assert found.mean[0] == pytest.approx([0.8, 0.4, 0.6])
    assert found.error[0] == pytest.approx([0.03, 0.04, 0.025])


def test_a_task_that_was_not_answered_before_is_known_by_the_evaluation_alone() -> None:
    found = reference({"push": [0.6, 0.6], "churn": [None, 0.6]})
    assert found.error[1, 1] == pytest.approx(np.hypot(0.05, 0.05) / 2)
