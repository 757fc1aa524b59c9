"""One drift is one event: the alarm's day moves with the window, and what it is of does not."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from schemas.config.monitor import MonitorConfig
from tasks.monitor.drift import find_drift
from tasks.monitor.operations import OPERATIONS
from tasks.monitor.sent_alarms import SentAlarms, alarms_of
from tests.tasks.monitor.reward_days import baseline, counts

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


def test_a_drop_that_comes_back_after_its_alarm_has_ended_is_reported_again(tmp_path: Path) -> None:
    first, second = daily(tmp_path, [0.6] * 34 + [0.5] * 3 + [0.6] * 37 + [0.5] * 3)
    assert first < 3
    assert second >= 40


def test_another_champion_or_evaluation_has_alarms_of_its_own(tmp_path: Path) -> None:
    sent_by(tmp_path).keep(["push", "churn"])
    assert sent_by(tmp_path).new(["push", "churn", "all"]) == ["all"]
    assert sent_by(tmp_path, champion="m/2").new(["push"]) == ["push"]
    assert sent_by(tmp_path, evaluation="f" * 64).new(["push"]) == ["push"]
    # Nor do they end its alarms.
    assert sent_by(tmp_path).new(["push"]) == []
    assert sent_by(tmp_path).new(["churn"]) == ["churn"]


def test_what_was_not_looked_for_is_not_over(tmp_path: Path) -> None:
    service = SentAlarms(tmp_path / "alarms", "m")
    service.keep(["latency", "silence"])
    # Without any answer only silence is seen.
    assert service.new(["silence"], ("silence",)) == []
    assert service.new(["latency", "silence"], OPERATIONS) == []


def test_a_champion_that_serves_again_after_a_rollback_has_alarms_of_its_own(tmp_path: Path) -> None:
    first, again = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
    sent_by(tmp_path, since=first).keep(["push"])
    assert sent_by(tmp_path, since=first).new(["push"]) == []
    assert sent_by(tmp_path, since=again).new(["push"]) == ["push"]
    assert sent_by(tmp_path).new(["push"]) == ["push"]
