"""The table of the step: ratios of medians, the limits, and what is counted of it."""

import pytest

from benchmarks.harness import Report
from benchmarks.step.__main__ import ratio, report_times
from benchmarks.step.turns import WARM_UP, Times


def _times(sampling: float, update: float, steps: int = 4) -> Times:
    """Steps after some warm-up steps that took a minute each."""
    whole, count = sampling + update + 1.0, WARM_UP + steps
    wall = [60.0] * WARM_UP + [whole] * steps
    parts = {"generation": [sampling] * count, "reward": [1.0] * count}
    return Times(wall, wall, parts, [100] * count).without_warm_up()


def test_warm_up_steps_do_not_count_and_the_update_is_what_is_left() -> None:
    times = _times(2.0, 5.0)
    assert times.wall == [8.0] * 4
    assert times.parts["update"] == [5.0] * 4


def test_a_step_within_all_limits_misses_none_and_tokens_a_second_are_shown() -> None:
    report = Report()
    report_times(report, ours=_times(1.0, 5.0), stock=_times(10.0, 12.0))
    assert report.misses == []
    assert [line.split() for line in report.lines() if "of sampling" in line] == [["of", "sampling", "10", "100"]]


def test_each_part_that_is_too_slow_is_missed() -> None:
    report = Report()
    report_times(report, ours=_times(2.1, 5.6), stock=_times(10.0, 10.0))
    assert [miss.split(":")[0] for miss in report.misses] == ["whole step", "sampling", "update"]


def test_the_ratio_is_of_medians_and_inside_its_interval() -> None:
    found, low, high = ratio([1.0, 1.0, 1.2, 9.0], [4.0, 4.0, 4.4, 4.0])
    assert found == pytest.approx(1.1 / 4.0)
    assert low <= found <= high
    assert low < high
