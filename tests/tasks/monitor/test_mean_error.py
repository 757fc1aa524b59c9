"""Standard errors and intervals of mean rewards: never sure of what a few equal answers say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tasks.monitor.mean_error import Numbers, interval, standard_error

REWARDS = st.lists(st.floats(0, 1), min_size=1, max_size=60).map(np.array)


def sums(rewards: Numbers) -> tuple[Numbers, Numbers, np.ndarray]:
    return np.array(float(len(rewards))), np.array(rewards.sum()), np.array((rewards**2).sum())


@settings(deadline=None, max_examples=60)
@given(REWARDS)
def test_the_interval_holds_the_answers_own_mean_and_stays_among_rewards(rewards: Numbers) -> None:
    low, high = interval(*sums(rewards))
    assert 0 <= low <= rewards.mean() + 1e-12
    assert rewards.mean() - 1e-12 <= high <= 1
    assert low < high


def test_a_few_equal_rewards_are_not_taken_for_certainty() -> None:
    assert standard_error(*sums(np.ones(5))) > 0.1
    assert interval(*sums(np.ones(5)))[0] < 0.8
    assert standard_error(*sums(np.ones(5000))) < 0.001


def test_of_no_answer_nothing_is_known() -> None:
    nothing = np.zeros(1)
    assert standard_error(nothing, nothing, nothing) == np.inf


@settings(deadline=None, max_examples=60)
@given(REWARDS)
def test_with_many_answers_it_is_the_usual_standard_error(rewards: Numbers) -> None:
    many = np.tile(np.concatenate([rewards, [0.2, 0.8]]), 2_000)
    assert standard_error(*sums(many)) == pytest.approx(many.std(ddof=1) / np.sqrt(len(many)), rel=0.02)


@pytest.mark.parametrize("size", [5, 10, 30, 100])
@pytest.mark.parametrize("mean", [0.02, 0.1, 0.5, 0.9, 0.98])
def test_skewed_rewards_keep_their_mean_in_the_interval_in_94_percent_of_all_days(size: int, mean: float) -> None:
    ones = np.arange(size + 1).astype(float)
    low, high = interval(np.full(size + 1, float(size)), ones, ones)
    assert binom.pmf(ones, size, mean)[(low <= mean) & (mean <= high)].sum() >= 0.94
