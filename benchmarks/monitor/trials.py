"""Simulated trials of a challenger beside the champion, whose true difference is known, for `benchmarks.monitor`.

The champion's rewards are those of the simulated months. Of a request, a shadow's answer is worth the same as the
champion's in seven of ten cases, and is drawn anew in the others. Every finding stays once it was shown, so that what
the last of a trial's days shows was shown at one of the daily looks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import polars as pl

from benchmarks.monitor.months import GRID, shares
from schemas.config.monitor import MonitorConfig
from schemas.tasks import TASK_NAMES, TaskName
from tasks.monitor.series import Numbers
from tasks.monitor.trials import find_trials

DAYS: Final = 30
REQUESTS: Final = 1000
"""Mean number of a day."""
TOLERANCE: Final = MonitorConfig().tolerance
LOOKS: Final = (1, 3, 7, 14, DAYS)
"""Days after which the findings are noted."""
_SAME: Final = 0.7
_FIRST: Final = date(2026, 11, 1)
_MIX: Final = 6.0
"""Concentration of the Dirichlet distribution of a day's mix of tasks, as in the months."""


@dataclass(frozen=True)
class Shown:
    """Findings by one look."""

    no_worse: bool
    """Over all tasks together."""
    worse: bool
    """In any task, or over all."""


@dataclass(frozen=True)
class Canary:
    """Thirty days of a challenger."""

    share: float | None
    """Share of the requests that it answers; None for the shadow of all."""
    loss: float
    """True loss of mean reward."""
    only: TaskName | None = None
    """The one task that loses; None for all."""

    def at_the_end(self, stream: Sequence[int]) -> Shown:
        """Draw such a trial; return what was shown at any of its days."""
        return self._after(self._drawn(np.random.default_rng(stream)))

    def by_look(self, stream: Sequence[int]) -> list[Shown]:
        """Draw such a trial; return what is shown after each of `LOOKS`."""
        drawn = self._drawn(np.random.default_rng(stream))
        return [self._after(drawn.filter(pl.col("day") < _FIRST + timedelta(days))) for days in LOOKS]

    def _after(self, drawn: pl.DataFrame) -> Shown:
        found = find_trials(drawn, TOLERANCE)
        series = found[0].series if found else ()
        return Shown(
            no_worse=bool(series) and series[0].low > -TOLERANCE,
            worse=any(each.high < -TOLERANCE for each in series),
        )

    def _drawn(self, rng: np.random.Generator) -> pl.DataFrame:
        sizes = rng.poisson(REQUESTS, DAYS)
        mixes = rng.dirichlet(np.full(len(TASK_NAMES), _MIX), DAYS)
        task = np.concatenate(
            [rng.choice(len(TASK_NAMES), size, p=mix) for size, mix in zip(sizes, mixes, strict=True)]
        )
        day = np.repeat(np.arange(DAYS), sizes)
        second = np.concatenate([np.sort(rng.integers(0, 86_400, size)) for size in sizes])
        reward = self._rewards(task, rng, 0.0)
        count = len(task)
        first = np.datetime64(_FIRST)
        shared = pl.DataFrame(
            {
                "day": (first + day).astype("datetime64[D]"),
                "time": (first + day).astype("datetime64[us]") + second * np.timedelta64(1, "s"),
                "task": pl.Series(TASK_NAMES).gather(task),
            }
        ).with_columns(pl.col("time").dt.replace_time_zone("UTC"))
        if self.share is not None:
            is_own = rng.random(count) < self.share
            own = self._rewards(task, rng, self.loss)
            return _table(shared, is_own, "challenger", np.where(is_own, own, reward), None)
        same = rng.random(count) < _SAME
        anew = self._rewards(task, rng, self.loss / (1 - _SAME))
        unseen = np.where(same, reward, anew)
        champions = _table(shared, np.zeros(count, bool), "shadow", reward, None)
        shadows = _table(shared, np.ones(count, bool), "shadow", unseen, np.arange(count))
        return pl.concat([champions, shadows.with_columns(pl.col("answer") + count)])

    def _rewards(self, task: np.ndarray[Any, Any], rng: np.random.Generator, loss: float) -> Numbers:
        reward = np.zeros(len(task))
        for number, name in enumerate(TASK_NAMES):
            here = task == number
            lost = loss if self.only in {None, name} else 0.0
            reward[here] = rng.choice(GRID, int(here.sum()), p=shares(name, -lost))
        return reward


def _table(
    shared: pl.DataFrame, is_own: np.ndarray[Any, Any], role: str, reward: Numbers, of: np.ndarray[Any, Any] | None
) -> pl.DataFrame:
    own = pl.Series(is_own)
    return shared.with_columns(
        pl.Series("reward", reward),
        answer=pl.int_range(len(reward), dtype=pl.Int64, eager=True),
        challenger=pl.when(own).then(pl.lit("shop/4")),
        role=pl.when(own).then(pl.lit(role)).otherwise(pl.lit("champion")),
        shadow_of=pl.lit(None, pl.Int64) if of is None else pl.Series(of, dtype=pl.Int64),
    )
