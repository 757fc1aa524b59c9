"""Evidence of a fall and the reference that it is measured against."""

import numpy as np
import pytest
from scipy.special import logsumexp

from tasks.monitor.detector import DAY_ANSWERS, MixedMean, Promise, evidence_against, reference_of
from tests.tasks.monitor.reward_days import counts

ENOUGH = float(np.log(10_000))


def promise(mean: float, error: float = 0.02, tasks: int = 1) -> Promise:
    return Promise(np.full(tasks, mean), np.full(tasks, error), np.full(tasks, 239.0))


def test_the_evidence_grows_with_the_fall_and_shrinks_with_the_tolerance_and_with_what_is_not_known() -> None:
    def at_the_end(mean: float, tolerance: float = 0.02, error: float = 0.02) -> float:
        found = evidence_against(promise(0.6, error), counts({"push": [mean] * 3}), tolerance, ENOUGH)
        return float(logsumexp(found[:, -1]))

    assert at_the_end(0.45) > at_the_end(0.5) > at_the_end(0.55) > at_the_end(0.6)
    assert at_the_end(0.5, tolerance=0.0) > at_the_end(0.5) > at_the_end(0.5, tolerance=0.05)
    assert at_the_end(0.5, error=0.01) > at_the_end(0.5) > at_the_end(0.5, error=0.05)


def test_a_day_is_worth_no_more_than_a_thousand_answers() -> None:
    def after_a_day(answers: int) -> float:
        found = evidence_against(promise(0.6, 0.002), counts({"push": [0.56]}, answers), 0.02, ENOUGH)
        return float(logsumexp(found[:, 0]))

    # Multiples of 6 hold the shape of the rewards whole.
    assert after_a_day(120) < after_a_day(480) < after_a_day(960) < after_a_day(DAY_ANSWERS * 6)
    assert after_a_day(DAY_ANSWERS * 6) == pytest.approx(after_a_day(DAY_ANSWERS * 60))


def reference(means: dict[str, list[float | None]], error: float = 0.05, promised: float = 0.6) -> MixedMean:
    size = len(means)
    promise = Promise(np.full(size, promised), np.full(size, error), np.full(size, 16.0))
    return reference_of(promise, counts(means))


def test_days_that_keep_the_promise_make_it_surer() -> None:
    found = reference({"push": [0.6] * 8})
    assert found.mean == pytest.approx(np.full((8, 8), 0.6), abs=0.001)
    assert (np.diff(found.error[:, -1]) < 0).all()
    assert found.error[7, 7] < 0.01
    assert found.freedom[7, 7] > 100
