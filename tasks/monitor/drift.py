"""Whether a served model's rewards fell below what its evaluation promised, asked anew each day."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import numpy as np
import polars as pl

from schemas.monitor_config import MonitorConfig
from schemas.tasks import TASK_NAMES
from tasks.monitor.baseline import Baseline
from tasks.monitor.evidence import evidence_against
from tasks.monitor.mean_error import freedom
from tasks.monitor.reference import Promise
from tasks.monitor.reward_counts import RewardCounts, count_rewards

ALL: Final = "all"
"""The series of all tasks together."""


@dataclass(frozen=True)
class DriftSeries:
    """The evidence against one promise, day by day."""

    name: str
    """A task, or `all`."""
    days: tuple[date, ...]
    """Days with answers, in order."""
    evidence: tuple[float, ...]
    """At the end of each day, as a share of what an alarm takes: from 1 on it is one."""
    mean: tuple[float, ...]
    """Mean reward of each day."""
    promised: tuple[float, ...]
    """What the evaluation measured, in the day's mix of tasks."""
    alarm: date | None
    """The first day on which the evidence was enough; None where it never was."""
    began: date | None
    """From when on it has been falling short, as the evidence has it best; None without an alarm."""
    loss: float | None
    """Promised minus mean reward, over the answers from then until the alarm; None without an alarm."""


@dataclass(frozen=True)
class FloorAlarm:
    """A day on which a task's mean reward was below the fixed floor."""

    task: str
    day: date
    mean: float
    answers: int


@dataclass(frozen=True)
class Drift:
    """What monitoring found."""

    series: tuple[DriftSeries, ...]
    """`all` first where there are several tasks, then the tasks in the house's order."""
    floor: tuple[FloorAlarm, ...]
    """By day and task."""
    floor_below: float
    """The fixed floor."""
    days_between_false_alarms: float
    """The stated rate: while nothing drifts, mean days between two alarms of `series`, at least, all together."""
    tolerance: float
    """The loss that is no drift."""
    without_baseline: tuple[str, ...]
    """Tasks of the logs that the evaluation says nothing of: only the floor is asked of them."""

    @property
    def found(self) -> bool:
        """Whether there is any alarm."""
        return bool(self.floor) or any(each.alarm for each in self.series)

    def reasons(self) -> list[str]:
        """Say each alarm in a sentence."""
        return [
            f"{'all tasks together' if each.name == ALL else each.name}: {each.loss:.3f} below what the evaluation "
            f"measured since {each.began}, found on {each.alarm}"
            for each in self.series
            if each.alarm
        ] + [
            f"{each.task}: mean reward {each.mean:.3f} of {each.answers:,} answers on {each.day} is below the floor "
            f"{self.floor_below:g}"
            for each in self.floor
        ]

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        from pydantic import TypeAdapter

        written: dict[str, Any] = TypeAdapter(Drift).dump_python(self, mode="json")
        return {"found": self.found, "reasons": self.reasons(), **written}


def find_drift(scored: pl.DataFrame, baselines: Mapping[str, Baseline], config: MonitorConfig) -> Drift:
    """Ask of each task, and of all together, whether its rewards fell short of the promise.

    How, and why that keeps the rate of false alarms, is in `tasks.monitor.evidence`.

    Args:
        scored: Scored answers of the champion alone: `day`, `task` and `reward`; one row or more.
        baselines: What its evaluation promised, by task.
        config: The rate of false alarms, the tolerance and the floor.
    """
    answered = set(scored["task"].unique())
    tasks = [task for task in TASK_NAMES if task in answered and task in baselines]
    return Drift(
        series=drift_series(count_rewards(scored, tasks), [baselines[task] for task in tasks], config) if tasks else (),
        floor=_below_floor(scored, config),
        floor_below=config.floor,
        days_between_false_alarms=config.days_between_false_alarms,
        tolerance=config.tolerance,
        without_baseline=tuple(task for task in TASK_NAMES if task in answered and task not in baselines),
    )


def drift_series(
    rewards: RewardCounts, baselines: Sequence[Baseline], config: MonitorConfig
) -> tuple[DriftSeries, ...]:
    """Gather the evidence of `all` tasks, where there are several, and of each.

    Args:
        rewards: Of the champion; each task and each day has an answer.
        baselines: Of the same tasks, in their order.
        config: The rate of false alarms and the tolerance.
    """
    number = len(rewards.tasks)
    # Half of the false alarms is for all tasks together, which sees a fall of everything soonest; each counts twice,
    # since a mean time of N days takes 2 N coins (`tasks.monitor.evidence`).
    enough_of_task = 2 * config.days_between_false_alarms * (1 if number == 1 else 2 * number)
    groups = [(ALL, list(range(number)), 4 * config.days_between_false_alarms)] if number > 1 else []
    groups += [(task, [position], enough_of_task) for position, task in enumerate(rewards.tasks)]
    mean, error, prompts = (
        np.array([getattr(each, name) for each in baselines]) for name in ("mean", "standard_error", "prompts")
    )
    return tuple(
        _one_series(
            name,
            Promise(mean[group], error[group], freedom(prompts[group])),
            rewards.of(group),
            config.tolerance,
            math.log(enough),
        )
        for name, group, enough in groups
    )


def _one_series(name: str, promise: Promise, rewards: RewardCounts, tolerance: float, log_enough: float) -> DriftSeries:
    found = evidence_against(promise, rewards, tolerance, log_enough)
    shares = found.log_sums - log_enough
    answers, total = rewards.answers, rewards.total
    promised = promise.mean @ answers
    over = np.flatnonzero(shares >= 0)
    alarm = int(over[0]) if over.size else None
    began = found.likeliest_start(alarm) if alarm is not None else None
    loss = None
    if alarm is not None:
        since = slice(began, alarm + 1)
        loss = float((promised[since].sum() - total[:, since].sum()) / answers[:, since].sum())
    return DriftSeries(
        name=name,
        days=rewards.days,
        evidence=tuple(np.exp(shares).tolist()),
        mean=tuple((total.sum(axis=0) / answers.sum(axis=0)).tolist()),
        promised=tuple((promised / answers.sum(axis=0)).tolist()),
        alarm=rewards.days[alarm] if alarm is not None else None,
        began=rewards.days[began] if began is not None else None,
        loss=loss,
    )


def _below_floor(scored: pl.DataFrame, config: MonitorConfig) -> tuple[FloorAlarm, ...]:
    days = (
        scored.lazy()
        .group_by("task", "day")
        .agg(pl.col("reward").mean().alias("mean"), pl.len().alias("answers"))
        .filter(pl.col("mean") < config.floor, pl.col("answers") >= config.floor_answers)
        .sort("day", pl.col("task").cast(pl.Enum(TASK_NAMES)))
        .collect()
    )
    return tuple(FloorAlarm(**row) for row in days.iter_rows(named=True))
