"""The figures of a day, by hand."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.monitor.daily import daily_figures
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


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["push", "churn"]), st.floats(0, 1)), min_size=1, max_size=40)
)
def test_every_answer_is_in_its_task_and_in_all_and_every_mean_in_its_interval(
    drawn: list[tuple[int, str, float]],
) -> None:
    daily = daily_figures(table(*((day(on), task, reward, None, True, 1, 1.0, None) for on, task, reward in drawn)))
    together = pl.col("task") == "all"
    assert daily.filter(together)["answers"].sum() == daily.filter(~together)["answers"].sum() == len(drawn)
    assert daily.select(
        ((pl.col("low") <= pl.col("mean") + 1e-9) & (pl.col("mean") <= pl.col("high") + 1e-9)).all()
    ).item()


def test_more_answers_narrow_the_interval() -> None:
    few, many = (
        daily_figures(table(*((day(0), "push", reward, None, True, 1, 1.0, None) for reward in [0.2, 0.8] * half)))
        for half in (5, 500)
    )
    assert many["low"][0] > few["low"][0]
    assert many["high"][0] < few["high"][0]
