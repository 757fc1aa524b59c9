"""Alarms of the service: late and dear answers beyond luck, and silence."""

from collections.abc import Sequence
from datetime import timedelta

import polars as pl
import pytest

from schemas.config.evaluate import CostConfig
from schemas.config.monitor import MonitorConfig
from tasks.monitor.operations import operations_alarms, silence_alarm
from tests.tasks.monitor.logged import NOW
from tests.tasks.monitor.reward_days import day


def kinds(
    late: int,
    count: int = 200,
    *,
    cost: float | None = None,
    last: int = 1,
    api: float = 0.01,
    limit: float | None = None,
) -> list[str]:
    """Return the alarms of a day with so many late answers, after a good one."""
    rows: list[tuple[object, ...]] = [(day(0), "push", 100.0, None)] * 200
    rows += [(day(last), "push", 60_000.0 if number < late else 100.0, cost) for number in range(count)]
    schema = {"day": pl.Date, "task": pl.String, "latency_ms": pl.Float64, "cost": pl.Float64}
    answers = pl.DataFrame(rows, schema=schema, orient="row")
    config = MonitorConfig(cost_per_analysis=limit)
    return [alarm.kind for alarm in operations_alarms(answers, config, CostConfig(api_price_per_analysis=api))]


def test_late_answers_are_an_alarm_where_they_are_more_than_luck() -> None:
    assert kinds(80) == ["latency"]
    # Of 200 answers 10 are one in twenty, and of 30 answers 3 are luck.
    assert kinds(10) == []
    assert kinds(3, 30) == []


def test_a_day_of_few_answers_is_not_looked_at_and_one_that_is_over_neither() -> None:
    assert kinds(20, 20) == []
    assert kinds(0) == []
    assert kinds(200, last=-1) == []


def test_a_slow_task_is_named_though_all_together_are_fast() -> None:
    rows = [(day(0), "push", 100.0, None)] * 3000 + [(day(0), "insights", 60_000.0, None)] * 60
    schema = {"day": pl.Date, "task": pl.String, "latency_ms": pl.Float64, "cost": pl.Float64}
    (alarm,) = operations_alarms(pl.DataFrame(rows, schema=schema, orient="row"), MonitorConfig(), CostConfig())
    assert alarm.reason.endswith("took longer than 10,000 ms: insights 100 %")


@pytest.mark.parametrize(
    ("cost", "api", "limit", "alarms"),
    [
        (0.02, 0.01, None, ["cost"]),
        (0.009, 0.01, None, []),
        (0.009, 0.01, 0.005, ["cost"]),
        (0.02, 0.0, None, []),
        (None, 0.01, None, []),
    ],
)
def test_answers_dearer_than_the_limit_or_an_api_are_an_alarm(
    cost: float | None, api: float, limit: float | None, alarms: list[str]
) -> None:
    assert kinds(0, cost=cost, api=api, limit=limit) == alarms


def of_days(days: Sequence[tuple[int, float, Sequence[float]]], config: MonitorConfig) -> list[str]:
    """Return the alarms of days: each a number, the latency, and the costs of its answers."""
    rows = [(day(number), "push", latency, cost) for number, latency, costs in days for cost in costs]
    schema = {"day": pl.Date, "task": pl.String, "latency_ms": pl.Float64, "cost": pl.Float64}
    answers = pl.DataFrame(rows, schema=schema, orient="row")
    return [alarm.kind for alarm in operations_alarms(answers, config, CostConfig(api_price_per_analysis=0.1))]


def test_a_cost_above_the_limit_by_rounding_or_by_one_dear_answer_is_no_alarm() -> None:
    assert sum([0.1] * 3) / 3 > 0.1
    assert of_days([(0, 100.0, [0.1] * 3)], MonitorConfig(floor_answers=3)) == []
    assert of_days([(0, 100.0, [0.09] * 29 + [0.5])], MonitorConfig()) == []
    assert of_days([(0, 100.0, [0.09, 0.13] * 15)], MonitorConfig()) == ["cost"]


@pytest.mark.parametrize(("later", "alarms"), [(3, ["latency", "cost"]), (4, [])])
def test_a_day_long_before_the_newest_is_how_the_service_was(later: int, alarms: list[str]) -> None:
    days = [(0, 60_000.0, [0.2] * 30), (later, 100.0, [0.01] * 5)]
    assert of_days(days, MonitorConfig()) == alarms


def test_silence_is_an_alarm_after_its_hours() -> None:
    config = MonitorConfig(silence_hours=6)
    assert silence_alarm(NOW - timedelta(hours=6), NOW, config) is None
    alarm = silence_alarm(NOW - timedelta(hours=30), NOW, config)
    assert alarm is not None
    assert alarm.reason == "silence: no answer since 2026-03-09 06:00 UTC, 30 hours ago; the limit is 6"
