"""Alarms of the service itself, which are late answers and silence, and the record of sent alarms.

None of these starts a retraining: people are told. The record lets one drift start one retraining, however often it is
detected. The alarm day moves with the monitored days. So an alarm is identified by its subject: of drift, the champion,
the time of its promotion, the evaluation behind the baseline, and the task or all of them; of the service, the model
and the kind of alarm. Once it is over it may be sent again; so it may if a replaced champion serves again, and fails.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from schemas.config.serve import MonitorConfig
from schemas.tasks import TASK_NAMES
from tasks.monitor.series import ALL, interval
from tasks.report.number_format import decimal, percent, shortest, written_day
from tasks.report.wording import worded

LATE_SHARE: Final = 0.05
"""Share of a day's answers that may be later than the limit."""
LATEST_DAYS: Final = timedelta(days=3)
"""Days before the newest day of which an alarm still is: an earlier one is how the service was."""

OperationsKind = Literal["latency", "silence"]
OPERATIONS: Final[tuple[OperationsKind, ...]] = ("latency", "silence")


@dataclass(frozen=True)
class OperationsAlarm:
    """Alarm of the service."""

    kind: OperationsKind
    reason: str
    """In a sentence."""


def latency_alarm(answers: pl.DataFrame, config: MonitorConfig) -> OperationsAlarm | None:
    """Look at the last day with enough answers, if it is of late: an alarm is of how it is, not of how it was."""
    by_day = answers.group_by("day").len().filter(pl.col("len") >= config.floor_answers)
    if not by_day.height:
        return None
    day = by_day.select(pl.col("day").max()).item()
    if answers.select(pl.col("day").max()).item() - day > LATEST_DAYS:
        return None
    last = answers.filter(pl.col("day") == day)
    late = pl.col("latency_ms") > config.latency_ms
    tasks = last.group_by("task").agg(pl.len(), late.sum().alias("late")).filter(pl.col("len") >= config.floor_answers)
    every = (worded("all tasks together"), last.height, last.select(late.sum()).item())
    # By more than luck brings about once in the stated days, as of the floor.
    level = 1 - 2 / (config.days_between_false_alarms * (1 + tasks.height))
    found = []
    for name, count, number in (every, *tasks.sort("task").iter_rows()):
        low, _ = interval(np.array(count), np.array(float(number)), np.array(float(number)), level)
        if low > LATE_SHARE:
            found.append(f"{name} {percent(number / count)}")
    if not found:
        return None
    return OperationsAlarm(
        "latency",
        worded(
            "latency: on {day} more than {share} of the answers took longer than {limit} ms: {found}",
            day=written_day(day),
            share=percent(LATE_SHARE),
            limit=decimal(config.latency_ms, 0),
            found=", ".join(found),
        ),
    )


def silence_alarm(last: datetime, now: datetime, config: MonitorConfig) -> OperationsAlarm | None:
    """Return the alarm of too long a time without any answer; both times have a zone."""
    silent = now - last
    if silent <= timedelta(hours=config.silence_hours):
        return None
    return OperationsAlarm(
        "silence",
        worded(
            "silence: no answer since {last}, {hours} hours ago; the limit is {limit}",
            last=f"{written_day(last)} {last:%H:%M} UTC",
            hours=decimal(silent / timedelta(hours=1), 0),
            limit=shortest(config.silence_hours),
        ),
    )


DRIFT_NAMES: Final = (ALL, *TASK_NAMES)
"""Possible alarms of drift."""


@dataclass(frozen=True)
class SentAlarms:
    """Sent alarms of one champion, or of the service."""

    folder: Path
    """Contains a marker file for each; created with the first."""
    champion: str
    """NAME/VERSION; the model's name where the alarms are of the service."""
    evaluation: str | None = None
    """The sha256 of the evaluation behind the baseline."""
    promoted_at: datetime | None = None
    """Time of its promotion; None if unknown."""

    def new(self, alarms: Collection[str], possible: Collection[str] = DRIFT_NAMES) -> list[str]:
        """Return the present alarms not sent yet, and forget those of the possible ones that are over."""
        for name in possible:
            if name not in alarms:
                self._mark(name).unlink(missing_ok=True)
        return [alarm for alarm in alarms if not self._mark(alarm).exists()]

    def keep(self, alarms: Collection[str]) -> None:
        """Record alarms as sent."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for alarm in alarms:
            self._mark(alarm).touch()

    def _mark(self, alarm: str) -> Path:
        since = self.promoted_at and self.promoted_at.isoformat()
        subject = json.dumps([self.champion, self.evaluation, since, alarm])
        return self.folder / hashlib.sha256(subject.encode()).hexdigest()


def alarms_of(drift: Mapping[str, Any]) -> list[str]:
    """Return the subject of each alarm in `drift` of `drift.json`, once: `push` or `all`."""
    alarms = {each["name"] for each in drift["series"] if each["alarm"]} | {each["task"] for each in drift["floor"]}
    return [name for name in DRIFT_NAMES if name in alarms]
