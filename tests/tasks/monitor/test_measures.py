"""Daily metrics, and the variety of answers."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest

from schemas.config.serve import MonitorConfig
from tasks.monitor.drift import Drift, find_drift
from tasks.monitor.measures import compared_variety
from tasks.monitor.series import count_rewards, daily_figures
from tests.tasks.monitor.reward_days import day

COLUMNS = {
    "day": pl.Date,
    "task": pl.String,
    "reward": pl.Float64,
    "valid": pl.Boolean,
    "answered": pl.Boolean,
    "characters": pl.Int64,
    "latency_ms": pl.Float64,
    "cost": pl.Float64,
}


def table(*rows: tuple[Any, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def test_a_day_has_its_figures_by_task_and_of_all_tasks_together() -> None:
    daily = daily_figures(
        table(
            (day(0), "push", 0.2, None, True, 100, 50.0, 0.004),
            (day(0), "push", 0.6, None, False, 120, 150.0, None),
            (day(0), "extraction", 1.0, True, True, 300, 250.0, 0.002),
            (day(0), "extraction", 0.0, False, True, 10, 350.0, None),
            (day(1), "push", 0.5, None, True, 90, 10.0, None),
        )
    )
    assert daily.select("task", "day", "answers").rows() == [
        ("all", day(0), 4),
        ("all", day(1), 1),
        ("extraction", day(0), 2),
        ("push", day(0), 2),
        ("push", day(1), 1),
    ]
    together, _, extraction, push, later = daily.to_dicts()
    assert together["mean"] == pytest.approx(0.45)
    assert (together["valid_share"], extraction["valid_share"], push["valid_share"]) == (0.5, 0.5, None)
    assert (together["answered_share"], push["answered_share"]) == (0.75, 0.5)
    assert (push["characters"], together["characters"]) == (110, 110)
    assert (push["latency_p50"], push["latency_p95"]) == pytest.approx((100.0, 145.0))
    assert (push["cost_per_analysis"], later["cost_per_analysis"]) == (0.004, None)
    assert together["cost_per_analysis"] == pytest.approx(0.003)


DAY = date(2026, 3, 1)
KINDS = ("positive 5", "positive 4", "negative 1", "neutral 3", "negative 2")


def varied_by_kind(number: int) -> str:
    return KINDS[number * 7 % 5]


def answers(days: int, each: int, said: Callable[[int], str], prompts: int = 1_000_000) -> pl.DataFrame:
    rows = [
        (DAY + timedelta(day), "sentiment", f"Avaliação {(day * each + number) % prompts}", said(number))
        for day in range(days)
        for number in range(each)
    ]
    return pl.DataFrame(rows, ["day", "task", "prompt", "completion"], orient="row")


TESTED = answers(1, 60, varied_by_kind).drop("day")


def variety(logged: pl.DataFrame) -> Drift:
    """Look for a collapse, beside rewards that show none."""
    compared = compared_variety(logged, TESTED)
    assert compared is not None
    perfect = count_rewards(logged.with_columns(reward=pl.lit(1.0)), ["sentiment"])
    return find_drift(perfect, {}, MonitorConfig(), beside={"varied": compared})


def test_one_answer_to_every_prompt_is_an_alarm() -> None:
    drift = variety(pl.concat([answers(5, 120, varied_by_kind), answers(10, 120, lambda _: "Neutral  3")]))
    (series,) = drift.series
    assert series.alarm is not None
    assert series.alarm > DAY + timedelta(5)
    assert series.measure == "varied"
    assert "the same far more often" in drift.reasons()[0]


def test_mostly_happy_reviews_are_none() -> None:
    logged = answers(30, 120, lambda number: KINDS[0] if number % 5 else varied_by_kind(number // 5))
    assert not variety(logged).found
