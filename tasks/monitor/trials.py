"""Trials: each challenger compared with the champion, by task and over all, and what follows.

A loss within the tolerance is none, as in the drift test. So there is one question: on which side of that border the
mean difference lies. Both answers to it are wrong with a chance of `ERROR` at most, each over all its days, tasks and
looks (`tasks.monitor.mean_bounds`): half of it is for all tasks together, and the rest is divided among all tasks that
there are, so that none of it moves when a task is asked for the first time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from schemas.tasks import TASK_NAMES
from tasks.monitor.drift import ALL
from tasks.monitor.mean_bounds import DailyValues, mean_bounds, values_needed
from tasks.monitor.paired import differences
from tasks.report.number_format import decimal, interval, percent, shortest, signed, written_day
from tasks.report.wording import worded

ERROR: Final = 0.05
"""Chance that a challenger is ever said to be worse and is not, at most, and likewise that it is no worse and is."""

TrialFinding = Literal["no worse", "worse", "undecided"]
TrialVerdict = Literal["may grow", "must go", "undecided"]


@dataclass(frozen=True)
class TrialSeries:
    """A challenger's difference from the champion in one task, or in all together."""

    name: str
    """A task, or `all`."""
    differences: int
    answers: int
    """The challenger's answers behind them."""
    mean: float
    """Mean difference of reward: challenger less champion."""
    low: float
    high: float
    """Bounds of the true one."""
    finding: TrialFinding
    """`no worse` than the champion by more than the tolerance; `worse`, by more than that."""
    needed: int | None
    """Further answers of the challenger that would decide, roughly; None where decided, or where none can tell."""


@dataclass(frozen=True)
class ChallengerTrial:
    """A challenger beside the champion."""

    challenger: str
    """NAME/VERSION."""
    answers: int
    shadows: int
    """Those among them that nobody received."""
    reward: float
    """Their mean reward."""
    first_day: date
    last_day: date
    tolerance: float
    series: tuple[TrialSeries, ...]
    """`all` first, then the tasks in the project's order; none where no answer of the champion is beside its own."""

    @property
    def verdict(self) -> TrialVerdict:
        """What follows: it must go where all tasks together are shown to be worse, or any is by itself."""
        if any(each.finding == "worse" for each in self.series):
            return "must go"
        return "may grow" if self.series and self.series[0].finding == "no worse" else "undecided"

    def reason(self) -> str:
        """State the verdict and what it rests on in a sentence."""
        if not self.series:
            return self._worded("is undecided: none of them has an answer of the champion beside it")
        whole, worse = self.series[0], [each for each in self.series if each.finding == "worse"]
        if worse:
            where = "; ".join(
                worded(
                    "{name} by {loss} ({range})", name=_said(each.name), loss=decimal(-each.mean), range=_range(each)
                )
                for each in worse
            )
            return self._worded("must go: worse than the champion by more than {tolerance}: {where}", where=where)
        found = worded(
            "the difference over all tasks is {difference} ({range})",
            difference=signed(whole.mean),
            range=_range(whole),
        )
        if whole.finding == "no worse":
            return self._worded("may grow: not worse than the champion by more than {tolerance}: {found}", found=found)
        if whole.needed is None:
            return self._worded("is undecided: {found}; how many more answers it takes cannot be said yet", found=found)
        grows = whole.mean > -self.tolerance
        return self._worded(
            "is undecided: {found}; if it goes on like this, about {more} more answers show that it may grow"
            if grows
            else "is undecided: {found}; if it goes on like this, about {more} more answers show that it must go",
            found=found,
            more=decimal(_rounded(whole.needed), 0),
        )

    def _worded(self, verdict: str, **values: str) -> str:
        begin = worded(
            "{challenger}, {answers} answers since {day},",
            challenger=self.challenger,
            answers=decimal(self.answers, 0),
            day=written_day(self.first_day),
        )
        return f"{begin} {worded(verdict, tolerance=shortest(self.tolerance), **values)}"

    def document(self) -> dict[str, Any]:
        """Return the trial as JSON-compatible values."""
        from pydantic import TypeAdapter

        written: dict[str, Any] = TypeAdapter(ChallengerTrial).dump_python(self, mode="json")
        return {"verdict": self.verdict, "reason": self.reason(), **written}


def find_trials(scored: pl.DataFrame, tolerance: float) -> tuple[ChallengerTrial, ...]:
    """Compare each challenger with the champion.

    Args:
        scored: Answers of the trials (`tasks.monitor.trial_answers`) with their `reward`.
        tolerance: The loss of mean reward that is none.
    """
    names = scored["challenger"].drop_nulls().unique().to_list()
    return tuple(_trial(scored, name, tolerance) for name in sorted(names, key=_by_number))


def _trial(scored: pl.DataFrame, challenger: str, tolerance: float) -> ChallengerTrial:
    own, found = scored.filter(pl.col("challenger") == challenger), differences(scored, challenger)
    asked = set(found["task"].unique())
    tasks = [task for task in TASK_NAMES if task in asked]
    series = [_series(ALL, found, tolerance, ERROR / 2)] if tasks else []
    of_task = ERROR / 2 / len(TASK_NAMES)
    series += [_series(task, found.filter(pl.col("task") == task), tolerance, of_task) for task in tasks]
    return ChallengerTrial(
        challenger=challenger,
        answers=own.height,
        shadows=own.filter(pl.col("role") == "shadow").height,
        reward=float(own["reward"].to_numpy().mean()),
        first_day=min(own["day"].unique()),
        last_day=max(own["day"].unique()),
        tolerance=tolerance,
        series=tuple(series),
    )


def _series(name: str, found: pl.DataFrame, tolerance: float, chance: float) -> TrialSeries:
    days = found["day"].to_numpy()
    starts = np.flatnonzero(np.concatenate([[True], days[1:] != days[:-1]]))
    daily = DailyValues(found["difference"].to_numpy(), starts)
    low, high = mean_bounds(daily, chance)
    # A mean that moved may once have been shown to be above the border, and later below it.
    finding: TrialFinding = "worse" if high < -tolerance else "no worse" if low > -tolerance else "undecided"
    more = None if finding != "undecided" else values_needed(daily, -tolerance, chance)
    answers = int(found["answers"].sum())
    return TrialSeries(
        name=name,
        differences=found.height,
        answers=answers,
        mean=float(daily.values.mean()),
        low=low,
        high=high,
        finding=finding,
        needed=None if more is None else round(more * answers / found.height),
    )


def _by_number(name: str) -> int:
    return int(name.rpartition("/")[2])


def _said(name: str) -> str:
    return worded("all tasks together") if name == ALL else name


def _range(series: TrialSeries) -> str:
    return interval(series.low, series.high)


def _rounded(count: int) -> int:
    """Round to two digits: an estimate has no more."""
    return int(float(f"{count:.2g}"))


def trial_sentence(trials: Sequence[ChallengerTrial]) -> str:
    """State how sure the verdicts are; empty without trials."""
    if not trials:
        return ""
    return worded(
        "That a challenger may grow, and that it must go, are each wrong with a chance of {chance} at most, over all "
        "tasks and however often one looks. A loss of {tolerance} is none.",
        chance=percent(ERROR),
        tolerance=shortest(trials[0].tolerance),
    )
