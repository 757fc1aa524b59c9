"""Drift detection: each day, what a served model answers is tested against its evaluation."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal

import numpy as np
from scipy.stats import t as student

from schemas.config.serve import MonitorConfig
from schemas.tasks import TASK_NAMES
from tasks.monitor.detector import Promise, evidence_against
from tasks.monitor.series import ALL, Baseline, RewardCounts, freedom, interval
from tasks.report.number_format import decimal, shortest, written_day
from tasks.report.wording import worded

_LOG_MOST: Final = math.log(1e9)
"""Log of the largest evidence shown."""

Measure = Literal["reward", "form", "answered", "valid", "varied", "reference"]
"""What a series is of.

`reward`: the reward, of answers that all have a reference; `form`: the reward without references, which knows the form
alone. Of every task one of both. `answered`: answers that are neither empty nor a refusal; `valid`: answers of valid
form; `varied`: pairs of answers to different prompts that differ; `reference`: the reward of the answers with a
reference, where others have none.
"""
FALLEN: Final[Mapping[Measure, str]] = {
    "reward": "reward {loss} below what the evaluation measured",
    "form": "form {loss} below that of the evaluation's answers",
    "answered": "{points} more of 100 answers are empty or a refusal than at the evaluation",
    "valid": "{points} more of 100 answers have no valid form than at the evaluation",
    "varied": "answers to different prompts are the same far more often than at the evaluation",
    "reference": "answers with a reference {loss} below what the evaluation measured",
}
"""Of each measure what fell, in words."""
SHARE_OF_REWARD: Final = 0.5
"""Share of the false alarms that is for the reward."""
SHARE_BESIDE: Final = 0.1
"""Share of each other measure, whether the others are there or not: no answer moves another's threshold."""
_SIGNS: Final = ((1.0, "alarm"), (0.1, "strong"), (0.001, "slight"))


@dataclass(frozen=True)
class Compared:
    """What production showed of a measure, and what the evaluation did."""

    counts: RewardCounts
    """Each task and each day has an answer."""
    baselines: Mapping[str, Baseline]


@dataclass(frozen=True)
class DriftSeries:
    """Evidence against one baseline, day by day."""

    name: str
    """A task, or `all`."""
    measure: Measure
    days: tuple[date, ...]
    """Days with answers, in order."""
    evidence: tuple[float, ...]
    """At the end of each day, as a multiple of the alarm threshold: an alarm from 1 on."""
    mean: tuple[float, ...]
    promised: tuple[float, ...]
    """Mean of the evaluation, in the day's mix of tasks."""
    alarm: date | None
    """The first day with enough evidence; None if there was none."""
    began: date | None
    """Most likely first day of the fall; None without an alarm."""
    loss: float | None
    """Evaluation's mean minus this one, over the answers from then until the alarm; None without an alarm."""


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
    """By measure; of each `all` first if there are several tasks, then the tasks in the project's order."""
    floor: tuple[FloorAlarm, ...]
    """By day and task."""
    floor_below: float
    days_between_false_alarms: float
    """Without drift, the mean days between two alarms of `series` together, at least; those of the floor are as rare
    separately."""
    tolerance: float
    """Loss that does not count as drift."""
    without_baseline: tuple[str, ...]
    """Tasks of the logs without an evaluation: only the floor applies to them."""
    by_form: tuple[str, ...]
    """Tasks whose reward is of the form alone."""

    @property
    def found(self) -> bool:
        """Return whether there is any alarm."""
        return bool(self.fallen)

    @property
    def rewards(self) -> dict[str, DriftSeries]:
        """Return the series of the reward, or of the form, by name."""
        return {each.name: each for each in self.series if each.measure in ("reward", "form")}

    @property
    def fallen(self) -> list[str]:
        """Return the names with any alarm, `all` first."""
        with_alarm = {each.name for each in self.series if each.alarm} | {each.task for each in self.floor}
        return [name for name in (ALL, *TASK_NAMES) if name in with_alarm]

    def reasons(self) -> list[str]:
        """Describe the alarms in a sentence for each name; the floor only where nothing else says it."""
        found = []
        for name in self.fallen:
            losses: dict[str, list[str]] = {}
            for each in self.series:
                if each.name != name or each.alarm is None or each.began is None or each.loss is None:
                    continue
                message = "on {day}" if each.began == each.alarm else "since {began}, found on {day}"
                when = worded(message, began=written_day(each.began), day=written_day(each.alarm))
                loss, points = decimal(each.loss), decimal(100 * each.loss, 0)
                losses.setdefault(when, []).append(worded(FALLEN[each.measure], loss=loss, points=points))
            said = [f"{', '.join(lost)}, {when}" for when, lost in losses.items()] or [self._below_floor(name)]
            found.append(f"{worded('all tasks together') if name == ALL else name}: {'; '.join(said)}")
        return found

    def _below_floor(self, task: str) -> str:
        last = [each for each in self.floor if each.task == task][-1]
        return worded(
            "mean {what} {mean} of {answers} answers on {day} is below the floor {floor}",
            what=worded("form" if task in self.by_form else "reward"),
            mean=decimal(last.mean),
            answers=decimal(last.answers, 0),
            day=written_day(last.day),
            floor=shortest(self.floor_below),
        )

    def document(self) -> dict[str, Any]:
        """Return the findings as JSON-compatible values."""
        from pydantic import TypeAdapter

        written: dict[str, Any] = TypeAdapter(Drift).dump_python(self, mode="json")
        return {"found": self.found, "reasons": self.reasons(), **written}


def find_drift(
    rewards: RewardCounts,
    baselines: Mapping[str, Baseline],
    config: MonitorConfig,
    *,
    by_form: Collection[str] = (),
    beside: Mapping[Measure, Compared] | None = None,
) -> Drift:
    """Test each task, and all together, for rewards below the baseline, and for what else was measured.

    `tasks.monitor.detector` documents the method and its rate of false alarms. The rewards are of the champion alone,
    and each task and each day has one; those of the tasks `by_form` know the form alone.
    """
    series = _of_measure("reward", Compared(rewards, baselines), config, SHARE_OF_REWARD, frozenset(by_form))
    for measure, compared in (beside or {}).items():
        series += _of_measure(measure, compared, config, SHARE_BESIDE, frozenset())
    return Drift(
        series=series,
        floor=below_floor(rewards, baselines, config),
        floor_below=config.floor,
        days_between_false_alarms=config.days_between_false_alarms,
        tolerance=config.tolerance,
        without_baseline=tuple(task for task in rewards.tasks if task not in baselines),
        by_form=tuple(task for task in rewards.tasks if task in by_form),
    )


def shown_by(name: str, by_form: Sequence[str]) -> str:
    """Return what the mean of a task, or of all, is of: `reward` or `form`."""
    return "form" if by_form and (name == ALL or name in by_form) else "reward"


def sign_of(evidence: float) -> str:
    """Return evidence in a word: `alarm`, `strong`, `slight` or `none`."""
    return next((word for least, word in _SIGNS if evidence >= least), "none")


def _of_measure(
    measure: Measure, compared: Compared, config: MonitorConfig, share: float, by_form: frozenset[str]
) -> tuple[DriftSeries, ...]:
    """Compute the evidence of `all` tasks with a baseline, if there are several, and of each."""
    promised = [number for number, task in enumerate(compared.counts.tasks) if task in compared.baselines]
    if not promised:
        return ()
    rewards = compared.counts.of(promised)
    baselines = [compared.baselines[task] for task in rewards.tasks]
    number, days = len(rewards.tasks), config.days_between_false_alarms / share
    # Half of the false alarms is for all tasks together, which shows a general fall soonest; each counts twice, since a
    # mean time of N days takes 2 N coins (`tasks.monitor.detector`).
    enough_of_task = 2 * days * (1 if number == 1 else 2 * number)
    groups = [(ALL, list(range(number)), 4 * days)] if number > 1 else []
    groups += [(task, [position], enough_of_task) for position, task in enumerate(rewards.tasks)]
    mean, error, prompts = (
        np.array([getattr(each, name) for each in baselines]) for name in ("mean", "standard_error", "prompts")
    )
    return tuple(
        _one_series(
            name,
            "form" if by_form.intersection(rewards.tasks[task] for task in group) else measure,
            Promise(mean[group], error[group], freedom(prompts[group])),
            rewards.of(group),
            config.tolerance,
            math.log(enough),
        )
        for name, group, enough in groups
    )


def _one_series(
    name: str, measure: Measure, promise: Promise, rewards: RewardCounts, tolerance: float, log_enough: float
) -> DriftSeries:
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
        measure=measure,
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

    The baseline must be above the floor by its 95 % interval, and the day below it by an interval as wide as the stated
    rate requires. So while the true means are the floor or more, days of all tasks together are that low once in
    `days_between_false_alarms` days, at most; that is in addition to the false alarms of the evidence.
    """
    level = 1 - 2 / (config.days_between_false_alarms * len(rewards.tasks))
    found = []
    for number, task in enumerate(rewards.tasks):
        if task in baselines and _lowest(baselines[task]) <= config.floor:
            continue
        answers, total, squares = (each[number] for each in (rewards.answers, rewards.total, rewards.squares))
        for day in np.flatnonzero(answers >= config.floor_answers):
            _, high = interval(answers[day], total[day], squares[day], level)
            if high < config.floor:
                mean, count = float(total[day] / answers[day]), int(answers[day])
                found.append(FloorAlarm(task, rewards.days[day], mean, count))
    return tuple(sorted(found, key=lambda alarm: alarm.day))


def _lowest(promise: Baseline) -> float:
    return promise.mean - float(student.ppf(0.975, freedom(np.array(promise.prompts)))) * promise.standard_error
