from datetime import date, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl

from schemas.config.monitor import MonitorConfig
from tasks.monitor.drift import find_drift
from tasks.monitor.figures import draw
from tasks.monitor.measures import daily_figures
from tasks.monitor.series import Baseline, count_rewards
from tasks.report.canvas import write_figures

FIRST = date(2026, 1, 1)


def rewarded(days: int, tasks: tuple[str, ...] = ("push", "churn"), *, falls: bool = False) -> pl.DataFrame:
    rows = [
        {
            "day": FIRST + timedelta(days=day),
            "task": task,
            "reward": (0.1 if falls and 2 * day > days else 0.8) + 0.1 * (number % 2),
            "valid": None,
            "answered": True,
            "characters": 50,
            "latency_ms": 400.0 + number,
            "cost": None,
        }
        for day in range(days)
        for task in tasks
        for number in range(60)
    ]
    return pl.DataFrame(rows, schema_overrides={"valid": pl.Boolean, "cost": pl.Float64})


def drawn(days: int, *, tasks: tuple[str, ...] = ("push", "churn"), falls: bool = False) -> dict[str, str]:
    scored = rewarded(days, tasks, falls=falls)
    baselines = {task: Baseline(task, 0.85, 0.01, 200, 200) for task in tasks}
    drift = find_drift(count_rewards(scored, tasks), baselines, MonitorConfig())
    assert drift.found is falls
    return draw(daily_figures(scored), drift, 0.5)


def test_every_figure_stands_alone_and_says_its_numbers(tmp_path: Path) -> None:
    figures = drawn(12, falls=True)
    assert set(figures) == {"reward_all", "reward_push", "reward_churn", "evidence", "latency"}
    write_figures(figures, tmp_path)
    for path in (tmp_path / "figures").iterdir():
        root = ET.parse(path).getroot()  # noqa: S314 - of our own making
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.get("aria-label")
    assert "from 0.850 to 0.150" in figures["reward_push"]
    assert "alarm on 2026-01-" in figures["reward_push"]
    assert "median 430 ms" in figures["latency"]


def test_a_single_day_is_drawn_by_hour() -> None:
    scored = rewarded(1, ("push",))
    hour = pl.datetime(2026, 1, 1, 9) + pl.duration(hours=pl.int_range(pl.len()) // 20)
    drift = find_drift(count_rewards(scored, ["push"]), {}, MonitorConfig(), by_form=["push"])
    figures = draw(daily_figures(scored), drift, 0.5, daily_figures(scored.with_columns(day=hour)))
    assert "Mean form of push by hour, from 0.850 to 0.850" in figures["reward_push"]
    for name in ("reward_push", "latency"):
        assert [shown for shown in ("09h", "10h", "11h", "12h") if f">{shown}<" in figures[name]] == [
            "09h",
            "10h",
            "11h",
        ]


def test_no_alarm_is_drawn_without_a_fall() -> None:
    assert "alarm on" not in "".join(drawn(12).values())


def test_one_day_is_drawn_and_many_days_are_named_a_few_times() -> None:
    assert ">01 Jan<" in drawn(1)["reward_push"]
    months = ("Jan", "Feb", "Mar")
    assert sum(drawn(60)["latency"].count(f" {month}<") for month in months) <= 7
