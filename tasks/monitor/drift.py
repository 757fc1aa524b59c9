"""Drift detection: each day, the rewards of a served model are tested against its evaluation."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import numpy as np
from scipy.stats import t as student

from schemas.config.monitor import MonitorConfig
from tasks.monitor.baseline import Baseline
from tasks.monitor.evidence import evidence_against
from tasks.monitor.mean_error import freedom, interval
from tasks.monitor.reference import Promise
from tasks.monitor.reward_counts import RewardCounts

ALL: Final = "all"
"""Name of the series of all tasks together."""
_LOG_MOST: Final = math.log(1e9)
"""Log of the largest evidence shown."""


@dataclass(frozen=True)
class DriftSeries:
    """Evidence against one baseline, day by day."""

    name: str
    """A task, or `all`."""
    days: tuple[date, ...]
    """Days with answers, in order."""
    evidence: tuple[float, ...]
    """At the end of each day, as a multiple of the alarm threshold: an alarm from 1 on."""
    mean: tuple[float, ...]
    """Mean reward of each day."""
    promised: tuple[float, ...]
    """Mean reward of the evaluation, in the day's mix of tasks."""
    alarm: date | None
    """The first day with enough evidence; None if there was none."""
    began: date | None
    """Most likely first day of the fall; None without an alarm."""
    loss: float | None
    """Evaluation's mean minus mean reward, over the answers from then until the alarm; None without an alarm."""


@dataclass(frozen=True)
class FloorAlarm:
    """Day on which a task's mean reward was below the fixed floor."""

    task: str
    day: date
    mean: float
    answers: int


@dataclass(frozen=True)
class Drift:
    """Findings of the monitoring."""

    series: tuple[DriftSeries, ...]
    """`all` first if there are several tasks, then the tasks in the project's order."""
    floor: tuple[FloorAlarm, ...]
    """By day and task."""
    floor_below: float
    """The fixed floor."""
    days_between_false_alarms: float
    """The stated rate: without drift, the mean days between two alarms of `series` together, at least; those of the
    floor are as rare separately."""
    tolerance: float
    """Loss that does not count as drift."""
    without_baseline: tuple[str, ...]
    """Tasks of the logs without an evaluation: only the floor applies to them."""

    @property
    def found(self) -> bool:
        """Return whether there is any alarm."""
        return bool(self.floor) or any(each.alarm for each in self.series)

    def reasons(self) -> list[str]:
        """Describe each alarm in a sentence."""
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
        """Return the findings as JSON-compatible values."""
        from pydantic import TypeAdapter

        written: dict[str, Any] = TypeAdapter(Drift).dump_python(self, mode="json")
        return {"found": self.found, "reasons": self.reasons(), **written}


def find_drift(rewards: RewardCounts, baselines: Mapping[str, Baseline], config: MonitorConfig) -> Drift:
    """Test each task, and all together, for rewards below the baseline.

    `tasks.monitor.evidence` documents the method and its rate of false alarms.

    Args:
        rewards: Of the champion alone; each task and each day has an answer.
        baselines: Its evaluation's results, by task.
        config: The rate of false alarms, the tolerance and the floor.
    """
    promised = [number for number, task in enumerate(rewards.tasks) if task in baselines]
    known = [baselines[rewards.tasks[number]] for number in promised]
    return Drift(
        series=drift_series(rewards.of(promised), known, config) if promised else (),
        floor=below_floor(rewards, baselines, config),
        floor_below=config.floor,
        days_between_false_alarms=config.days_between_false_alarms,
        tolerance=config.tolerance,
        without_baseline=tuple(task for task in rewards.tasks if task not in baselines),
    )


def drift_series(
    rewards: RewardCounts, baselines: Sequence[Baseline], config: MonitorConfig
) -> tuple[DriftSeries, ...]:
    """Compute the evidence of `all` tasks, if there are several, and of each.

    Args:
        rewards: Of the champion; each task and each day has an answer.
        baselines: Of the same tasks, in their order.
        config: The rate of false alarms and the tolerance.
    """
    number = len(rewards.tasks)
    # Half of the false alarms is for all tasks together, which shows a general fall soonest; each counts twice, since a
    # mean time of N days takes 2 N coins (`tasks.monitor.evidence`).
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
        evidence=tuple(np.exp(np.minimum(shares, _LOG_MOST)).tolist()),
        mean=tuple((total.sum(axis=0) / answers.sum(axis=0)).tolist()),
        promised=tuple((promised / answers.sum(axis=0)).tolist()),
        alarm=rewards.days[alarm] if alarm is not None else None,
        began=rewards.days[began] if began is not None else None,
        loss=loss,
    )


def below_floor(
    rewards: RewardCounts, baselines: Mapping[str, Baseline], config: MonitorConfig
) -> tuple[FloorAlarm, ...]:
    """Apply the floor to tasks whose evaluation was certainly above it, or that have none.

    A task with a baseline near the floor, or below it, would raise an alarm every other day without any drift, and one
    somewhat above it by a day's chance. So the baseline must be above the floor by its 95 % interval, and the day below
    it by an interval as wide as the stated rate requires: while the true means are the floor or more, days of all tasks
    together are that low once in `days_between_false_alarms` days, at most. That is in addition to the false alarms of
    the evidence, which are as rare: both together occur twice as often, at most.
    """
    asked = [
        number
        for number, task in enumerate(rewards.tasks)
        if task not in baselines or _lowest(baselines[task]) > config.floor
    ]
    level = 1 - 2 / (config.days_between_false_alarms * len(rewards.tasks))
    found = []
    for number in asked:
        answers, total, squares = (each[number] for each in (rewards.answers, rewards.total, rewards.squares))
        for day in np.flatnonzero(answers >= config.floor_answers):
            _, high = interval(answers[day], total[day], squares[day], level)
            if high < config.floor:
                mean, count = float(total[day] / answers[day]), int(answers[day])
                found.append(FloorAlarm(rewards.tasks[number], rewards.days[day], mean, count))
    return tuple(sorted(found, key=lambda alarm: alarm.day))


def _lowest(promise: Baseline) -> float:
    return promise.mean - float(student.ppf(0.975, freedom(np.array(promise.prompts)))) * promise.standard_error
