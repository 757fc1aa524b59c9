from itertools import combinations, pairwise
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.audit.attack.forecast import PoolSample, best_of, forecast

SHARES = st.sampled_from([0.0, 0.25, 0.5, 1.0])
POOLS = st.lists(st.builds(PoolSample, SHARES, SHARES), min_size=2, max_size=7)


@given(POOLS, st.integers(1, 7))
def test_the_estimate_is_the_mean_over_every_subset(pool: list[PoolSample], n: int) -> None:
    n = min(n, len(pool))
    best = []
    for subset in combinations(pool, n):
        most = max(sample.reward for sample in subset)
        best.append((most, fmean(sample.truth for sample in subset if sample.reward == most)))
    found = best_of(pool, n)

    assert found.reward == pytest.approx(fmean(reward for reward, _ in best))
    # Of equal ones the mean of all is taken, and so is the mean over all subsets.
    if len({sample.reward for sample in pool}) == len(pool):
        assert found.truth == pytest.approx(fmean(truth for _, truth in best))


@given(POOLS)
def test_more_samples_never_earn_less(pool: list[PoolSample]) -> None:
    found = forecast([pool])

    assert found is not None
    rewards = [point.reward for point in found.points]
    assert all(one <= two + 1e-12 for one, two in pairwise(rewards))


def test_a_reward_that_pays_for_the_rare_falsehood_parts_from_truth_where_it_is_drawn() -> None:
    honest = [PoolSample(place / 20, place / 20) for place in range(16)]

    assert forecast([honest]).parts_at is None  # type: ignore[union-attr]  # there are two samples
    gamed = forecast([[*honest[:15], PoolSample(1.0, 0.0)]])
    assert gamed is not None
    assert gamed.parts_at == 8


def test_one_sample_forecasts_nothing() -> None:
    assert forecast([[PoolSample(1.0, 1.0)], []]) is None
