"""Simulated comparisons and audits: their truth is what they say, and a share outside of its limits is missed."""

import numpy as np
import pytest

from benchmarks.monitor.simulated import GRID, MEANS, shares
from benchmarks.statistics.__main__ import is_beyond
from benchmarks.statistics.scenarios import COVERED


@pytest.mark.parametrize("name", COVERED)
def test_the_true_difference_is_the_mean_of_what_is_drawn(name: str) -> None:
    base, tuned = COVERED[name].draw(np.random.default_rng(1), 100_000, np.zeros(1))
    assert float((tuned - base).mean()) == pytest.approx(COVERED[name].true_difference, abs=0.005)
    assert min(base.min(), tuned.min()) >= 0
    assert max(base.max(), tuned.max()) <= 1


@pytest.mark.parametrize(("covered", "errors", "is_missed"), [(0.929, 0, True), (0.929, 2, False), (0.985, 2, True)])
def test_a_share_outside_of_93_to_97_percent_is_missed(covered: float, errors: int, is_missed: bool) -> None:
    assert is_beyond(covered, 1_000, errors) is is_missed


@pytest.mark.parametrize("offset", [0.0, -0.1])
def test_a_tasks_simulated_rewards_have_its_mean(offset: float) -> None:
    for task, mean in MEANS.items():
        assert shares(task, offset) @ GRID == pytest.approx(mean + offset)
