"""The tables of the scaling benchmark, on made-up curves."""

import pytest

from benchmarks.harness import Report
from benchmarks.scaling.__main__ import mean_curve, reached, report_outcomes, reward_by
from benchmarks.scaling.trainings import OURS, STOCK, Outcome, Point


def _outcome(seconds_a_step: float, *rewards: float) -> Outcome:
    """Return an outcome that is validated every ten steps."""
    curve = [
        Point(step=10 * place, seconds=10 * place * seconds_a_step, reward=reward)
        for place, reward in enumerate(rewards, start=1)
    ]
    return Outcome(before=0.1, curve=tuple(curve))


STOCK_SEED = _outcome(12.0, 0.2, 0.3, 0.4)
FAST = _outcome(3.0, 0.2, 0.4, 0.5)


def test_the_reward_by_some_time_is_the_last_one_validated_until_then() -> None:
    assert [reward_by(STOCK_SEED, seconds) for seconds in (0, 119, 120, 359, 360, 9_999)] == [
        0.1,
        0.1,
        0.2,
        0.3,
        0.4,
        0.4,
    ]


def test_what_counts_is_when_each_first_has_stocks_last_reward() -> None:
    assert reached(STOCK_SEED.curve, FAST.curve) == (0.4, 360.0, 60.0)
    assert reached(STOCK_SEED.curve, _outcome(3.0, 0.2, 0.3, 0.39).curve)[2] is None
    # A stock that was there before its last step is timed by when it first was.
    assert reached(_outcome(12.0, 0.4, 0.5, 0.4).curve, FAST.curve) == (0.4, 120.0, 60.0)


def test_the_mean_curve_is_of_steps() -> None:
    found = mean_curve([_outcome(1.0, 0.2, 0.4).curve, _outcome(3.0, 0.4, 0.6).curve])
    assert [(point.step, point.seconds) for point in found] == [(10, 20.0), (20, 40.0)]
    assert [point.reward for point in found] == pytest.approx([0.3, 0.5])


def test_a_third_of_the_minutes_meets_the_limit_and_the_tables_show_them() -> None:
    report = Report()
    report_outcomes(report, {STOCK: {1: STOCK_SEED, 2: STOCK_SEED}, OURS: {1: FAST, 2: FAST}})
    assert report.misses == []
    lines = [line.split() for line in report.lines()]
    assert ["1", "0.400", "6.0", "1.0", "0.17"] in lines
    assert ["mean", "curve", "0.400", "6.0", "1.0", "0.17"] in lines
    # Every row of the minutes: half a minute, one minute, and so on to stock's last one.
    assert ["1.0", "0.100", "(0.100,", "0.100)", "0.400", "(0.400,", "0.400)"] in lines
    assert ["6.0", "0.400", "(0.400,", "0.400)", "0.500", "(0.500,", "0.500)"] in lines


@pytest.mark.parametrize(
    ("ours", "said"), [(_outcome(7.0, 0.2, 0.4), "after 2.3 minutes"), (_outcome(1.0, 0.2), "never")]
)
def test_more_than_a_third_or_never_is_missed(ours: Outcome, said: str) -> None:
    report = Report()
    report_outcomes(report, {STOCK: {1: STOCK_SEED}, OURS: {1: ours}})
    (miss,) = report.misses
    assert miss == f"ours reaches 0.400 {said}, stock after 6.0; limit a third of that"
