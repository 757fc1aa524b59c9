"""Alarms of the service, and each alarm sent once."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from schemas.config.serve import MonitorConfig
from tasks.monitor.drift import find_drift
from tasks.monitor.operations import SentAlarms, alarms_of, latency_alarm
from tests.tasks.monitor.reward_days import baseline, counts, day


def is_late(late: int, count: int = 200) -> bool:
    """Return whether a day with so many late answers, after a good one, is an alarm."""
    rows: list[tuple[object, ...]] = [(day(0), "push", 100.0)] * 200
    rows += [(day(1), "push", 60_000.0 if number < late else 100.0) for number in range(count)]
    schema = {"day": pl.Date, "task": pl.String, "latency_ms": pl.Float64}
    return latency_alarm(pl.DataFrame(rows, schema=schema, orient="row"), MonitorConfig()) is not None


def test_late_answers_are_an_alarm_where_they_are_more_than_luck() -> None:
    assert is_late(80)
    # Of 200 answers 10 are one in twenty, and of 30 answers 3 are luck.
    assert not is_late(10)
    assert not is_late(3, 30)


CONFIG = MonitorConfig()


def sent_by(
    folder: Path, champion: str = "m/1", evaluation: str = "e" * 64, since: datetime | None = None
) -> SentAlarms:
    return SentAlarms(folder / "alarms", champion, evaluation, since)


def daily(folder: Path, means: list[float]) -> list[int]:
    """Look daily at the last 35 days; return the runs, from 0, that sent an event."""
    sent = []
    for run in range(35, len(means) + 1):
        drift = find_drift(counts({"push": means[run - 35 : run]}), {"push": baseline("push")}, CONFIG)
        alarms = alarms_of(drift.document())
        if new := sent_by(folder).new(alarms):
            sent.append(run - 35)
            sent_by(folder).keep(new)
    return sent


@pytest.mark.parametrize("low", [0.5, 0.1])
def test_sixty_runs_over_one_drop_that_stays_send_one_event(tmp_path: Path, low: float) -> None:
    # Of .1 the floor is alarmed too, and by another day each time.
    assert len(daily(tmp_path, [0.6] * 34 + [low] * 60)) == 1


def test_a_champion_that_serves_again_after_a_rollback_has_alarms_of_its_own(tmp_path: Path) -> None:
    first, again = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
    sent_by(tmp_path, since=first).keep(["push"])
    assert sent_by(tmp_path, since=first).new(["push"]) == []
    assert sent_by(tmp_path, since=again).new(["push"]) == ["push"]
    assert sent_by(tmp_path).new(["push"]) == ["push"]
