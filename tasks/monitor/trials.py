"""Trials: each challenger compared with the champion, by task and over all, and what follows.

A loss within the tolerance is none, as in the drift test. So there is one question: on which side of that border the
mean difference lies. Both answers to it are wrong with a chance of `ERROR` at most, each over all its days, tasks and
looks (below): half of it is for all tasks together, and the rest is divided among all tasks that
there are, so that none of it moves when a task is asked for the first time.

A shadow's answer is compared with the champion's to the same request: what is hard or easy about the request is in
both, and cancels out. Where the challenger answered in the champion's place there is no such answer. Then the answers
to a task are taken as they came, and whenever there are some of both models, the difference of their means counts; both
begin anew with the next answer, and with each day. So no answer counts twice, the model that answers less has one
answer in each difference, and nothing depends on when somebody looks.

Which of both answers must not depend on what would come of it: the gateway draws it by a digest of the request's key.
Where few keys make many requests, the difference of their requests remains, which a shadow does not have.

The bounds of a mean hold at every daily look at once. A gambler bets that the mean of values in [0, 1] is above m: a
value x multiplies a coin by 1 + stake * (x - m) / m, for a stake of at most 1. While the mean is m or less no such bet
wins on average, whatever the values' distribution. So the chance that one coin ever becomes N coins is 1 / N at most,
at whatever days one looks (Ville's inequality), and each m against which it did is below the mean, but for that chance
(Waudby-Smith and Ramdas, 2023, "Estimating means of bounded random variables by betting"; of differences of pairs,
Shekhar and Ramdas, 2023, "Nonparametric two-sample testing by betting"). The coin is split among stakes that are chosen
beforehand, as `tasks.monitor.detector` does, and a day counts as `DAY_ANSWERS` values at most.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import logsumexp

from schemas.tasks import TASK_NAMES
from tasks.monitor.detector import DAY_ANSWERS, STAKES
from tasks.monitor.logs import CHALLENGER, SHADOW
from tasks.monitor.series import ALL, Numbers
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
        decisive = [each for each in self.series if each.finding == "worse"] or self.series[:1]
        differences = [
            worded(
                "{name} {difference} ({range})",
                name=worded("all tasks together") if each.name == ALL else each.name,
                difference=signed(each.mean),
                range=interval(each.low, each.high),
            )
            for each in decisive
        ]
        found = "; ".join(differences) or worded("none of them has an answer of the champion beside it")
        if self.verdict == "undecided" and decisive and decisive[0].needed is not None:
            # To two digits: an estimate has no more.
            more = decimal(int(float(f"{decisive[0].needed:.2g}")), 0)
            found = worded("{found}; if it goes on like this, about {more} more answers decide", found=found, more=more)
        return worded(
            "{challenger}, {answers} answers since {day}: {verdict}; challenger less champion: {found}",
            challenger=self.challenger,
            answers=decimal(self.answers, 0),
            day=written_day(self.first_day),
            verdict=worded(self.verdict),
            found=found,
        )

    def document(self) -> dict[str, Any]:
        """Return the trial as JSON-compatible values."""
        from pydantic import TypeAdapter

        written: dict[str, Any] = TypeAdapter(ChallengerTrial).dump_python(self, mode="json")
        return {"verdict": self.verdict, "reason": self.reason(), **written}


def find_trials(scored: pl.DataFrame, tolerance: float) -> tuple[ChallengerTrial, ...]:
    """Compare each challenger with the champion by the scored answers of the trials (`trial_answers`)."""
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


_SCHEMA: Final[Mapping[str, Any]] = {
    "day": pl.Date,
    "time": pl.Datetime("us", "UTC"),
    "task": pl.String,
    "difference": pl.Float64,
    "answers": pl.Int64,
}


def differences(scored: pl.DataFrame, challenger: str) -> pl.DataFrame:
    """Return the differences between a challenger and the champion, by time.

    They are `day`, `time`, `task`, `difference` (challenger less champion, in [-1, 1]), and `answers`, the number of
    the challenger's behind it.
    """
    champions = scored.filter(pl.col("challenger").is_null())
    own = scored.filter(pl.col("challenger") == challenger)
    shadows = (
        own.filter(pl.col("role") == SHADOW)
        .unique("shadow_of", keep="first", maintain_order=True)
        .join(champions.select("answer", beside="reward"), left_on="shadow_of", right_on="answer", how="inner")
    )
    paired = shadows.select(
        "day", "time", "task", (pl.col("reward") - pl.col("beside")).alias("difference"), answers=pl.lit(1, pl.Int64)
    )
    free = pl.concat(
        [
            champions.join(shadows, left_on="answer", right_on="shadow_of", how="anti"),
            own.filter(pl.col("role") == CHALLENGER),
        ]
    ).sort("answer")
    in_turn = _in_turn(free.select("day", "time", "task", pl.col("challenger").is_not_null(), "reward").iter_rows())
    found = pl.concat([paired, pl.DataFrame(list(in_turn), schema=dict(_SCHEMA), orient="row")])
    return found.sort("time", maintain_order=True)


def _in_turn(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield the differences of answers as they came, by the columns of the result."""
    begun: dict[tuple[Any, Any], tuple[list[float], list[int]]] = {}
    for day, time, task, is_challengers, reward in rows:
        total, count = begun.setdefault((task, day), ([0.0, 0.0], [0, 0]))
        total[is_challengers] += reward
        count[is_challengers] += 1
        if all(count):
            yield day, time, task, total[1] / count[1] - total[0] / count[0], count[1]
            del begun[task, day]


_STEPS: Final = 14
"""Halvings of the range in which a bound is searched: it is found to 1/8000, on the safe side."""
_MIN_VALUES: Final = 30
"""Fewest values by which the number of further ones is estimated."""
_MAX_NEEDED: Final = 1_000_000


@dataclass(frozen=True)
class DailyValues:
    """Values in [-1, 1] in the order of their days; one or more."""

    values: Numbers
    starts: NDArray[np.intp]
    """Position of each day's first value."""

    @property
    def _weights(self) -> Numbers:
        sizes = np.diff([*self.starts, len(self.values)])
        return np.repeat(np.minimum(1.0, DAY_ANSWERS / sizes), sizes)

    def log_growth(self, mean: float, *, above: bool) -> Numbers:
        """Return the logarithm of each stake's growth by each value, shape (stakes, values), betting on one side."""
        off, most = (self.values - mean, 1 + mean) if above else (mean - self.values, 1 - mean)
        return np.asarray(np.log1p(STAKES[:, None] * (off / most)) * self._weights)

    def most_coins(self, mean: float, *, above: bool) -> float:
        """Return the logarithm of the largest fortune at the end of any day."""
        by_day = np.add.reduceat(self.log_growth(mean, above=above), self.starts, axis=1).cumsum(axis=1)
        return float(logsumexp(by_day, axis=0).max() - math.log(len(STAKES)))


def mean_bounds(daily: DailyValues, chance: float) -> tuple[float, float]:
    """Return the bounds of the mean, in [-1, 1]; each is ever wrong with this chance at most."""
    enough = -math.log(chance)
    return _farthest(daily, enough, above=True), _farthest(daily, enough, above=False)


def _farthest(daily: DailyValues, enough: float, *, above: bool) -> float:
    """Return the mean farthest from the end of the range against which the bets won enough."""
    won, open_ = (-1.0, 1.0) if above else (1.0, -1.0)
    for _ in range(_STEPS):
        middle = (won + open_) / 2
        # The farther the mean, the worse the bets.
        if daily.most_coins(middle, above=above) >= enough:
            won = middle
        else:
            open_ = middle
    return won


def values_needed(daily: DailyValues, mean: float, chance: float) -> int | None:
    """Estimate how many more values show on which side of a mean theirs is, if they go on as they were.

    None where these are too few, or too near, to say.
    """
    count = len(daily.values)
    growth = daily.log_growth(mean, above=bool(daily.values.mean() > mean)).mean(axis=1).max()
    if count < _MIN_VALUES or growth <= 0:
        return None
    # The best stake has its part of the coin alone.
    needed = math.ceil((math.log(len(STAKES)) - math.log(chance)) / growth) - count
    return max(1, needed) if needed <= _MAX_NEEDED else None
