"""The step's table: ratios of medians, and the limits."""

import pytest

from benchmarks.harness import Report
from benchmarks.step.__main__ import ratio, report_times
from benchmarks.step.trainers import WARM_UP, Times


def _times(sampling: float, update: float) -> Times:
    """Four steps after some warm-up steps that took a minute each."""
    parts = {"generation": [sampling] * (WARM_UP + 4), "reward": [1.0] * (WARM_UP + 4)}
    wall = [60.0] * WARM_UP + [sampling + update + 1.0] * 4
    return Times(wall, parts, [100] * len(wall)).without_warm_up()


@pytest.mark.parametrize(
    ("ours", "stock", "misses"),
    [
        (_times(1.0, 5.0), _times(10.0, 12.0), []),
        (_times(2.1, 5.6), _times(10.0, 10.0), ["whole step", "sampling", "update"]),
    ],
)
def test_each_part_that_is_too_slow_is_missed(ours: Times, stock: Times, misses: list[str]) -> None:
    report = Report()
    report_times(report, ours=ours, stock=stock)
    assert [miss.split(":")[0] for miss in report.misses] == misses


def test_the_ratio_is_of_medians_and_inside_its_interval() -> None:
    found, low, high = ratio([1.0, 1.0, 1.2, 9.0], [4.0, 4.0, 4.4, 4.0])
    assert found == pytest.approx(1.1 / 4.0)
    assert low <= found <= high > low
