"""Means, their errors and intervals, and histograms of rewards."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tasks.monitor.series import Numbers, count_rewards, interval, standard_error

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


@pytest.mark.parametrize("size", [5, 30])
@pytest.mark.parametrize("mean", [0.02, 0.5, 0.98])
def test_skewed_rewards_keep_their_mean_in_the_interval_in_94_percent_of_all_days(size: int, mean: float) -> None:
    ones = np.arange(size + 1).astype(float)
    low, high = interval(np.full(size + 1, float(size)), ones, ones)
    assert binom.pmf(ones, size, mean)[(low <= mean) & (mean <= high)].sum() >= 0.94


FIRST = date(2026, 11, 1)
ROWS = st.lists(
    st.tuples(st.sampled_from(["push", "churn", "sql_qa"]), st.integers(0, 4), st.floats(0, 1)), min_size=1, max_size=50
)


def table(rows: list[tuple[str, int, float]]) -> pl.DataFrame:
    columns = {"task": pl.String, "day": pl.Date, "reward": pl.Float64}
    return pl.DataFrame(
        [(task, FIRST + timedelta(day), reward) for task, day, reward in rows], schema=columns, orient="row"
    )


@settings(deadline=None, max_examples=40)
@given(ROWS)
def test_each_answer_counts_once_at_its_reward_or_above(rows: list[tuple[str, int, float]]) -> None:
    scored = table(rows)
    counted = count_rewards(scored, ("push", "churn", "sql_qa"))
    for number, task in enumerate(counted.tasks):
        for place, day in enumerate(counted.days):
            rewards = scored.filter(task=task, day=day)["reward"]
            assert counted.answers[number, place] == len(rewards)
            over = counted.total[number, place] - rewards.sum()
            assert -1e-5 * len(rewards) <= over <= 0.001 * len(rewards)
    assert counted.answers.sum() == len(rows)
