"""Means and histograms of rewards by task and day, and the standard error of a mean.

The usual standard error of a few equal rewards is 0, as if the mean were known exactly. So two answers of reward 0 and
two of reward 1 are added before the spread is computed (Agresti and Coull, 1998, "Approximate is better than exact"),
and Student's t is used: by simulation (`benchmarks.monitor`) its 95 % intervals contain the mean of skewed rewards on
95 to 100 % of all days, from 5 answers on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schemas.tasks import TASK_NAMES

Numbers = NDArray[np.float64]

ALL: Final = "all"
"""Name of the series of all tasks together."""
ADDED: Final = 4
"""Number of added answers: half of them 0, half of them 1."""


def standard_error(count: Numbers, total: Numbers, squares: Numbers) -> Numbers:
    """Return the standard error of means of values in [0, 1] by sum and sum of squares; never 0, infinite of none."""
    n = count + ADDED
    mean = (total + ADDED / 2) / n
    variance = np.maximum((squares + ADDED / 2 - n * mean**2) / (n - 1), 0.0)
    return np.where(count > 0, np.sqrt(variance / n), np.inf)


def freedom(count: Numbers) -> Numbers:
    """Return the degrees of freedom of such standard errors."""
    return count + ADDED - 1


def interval(count: Numbers, total: Numbers, squares: Numbers, level: float = 0.95) -> tuple[Numbers, Numbers]:
    """Return two-sided intervals for the means of values in [0, 1], one value or more each; each contains its mean."""
    from scipy.stats import t

    n = count + ADDED
    centre = (total + ADDED / 2) / n
    half = t.ppf((1 + level) / 2, freedom(count)) * standard_error(count, total, squares)
    mean = total / count
    return np.clip(np.minimum(centre - half, mean), 0.0, 1.0), np.clip(np.maximum(centre + half, mean), 0.0, 1.0)


@dataclass(frozen=True)
class Baseline:
    """Mean of one task on the test split, in [0, 1]; answers to one prompt count as one."""

    task: str
    mean: float
    standard_error: float
    """Of that mean, over other prompts of the same kind."""
    prompts: int
    answers: int


STEPS: Final = 1000
"""Rewards are counted in steps of 1/1000, rounded up: the mean of a day comes out at most .001 too high."""
_ROUNDING: Final = 1e-6


@dataclass(frozen=True)
class RewardCounts:
    """Histogram of rewards."""

    tasks: tuple[str, ...]
    days: tuple[date, ...]
    """In order; days without answers are missing."""
    rewards: Numbers
    """The occurring rewards, in steps of 1/1000."""
    counts: Numbers
    """Shape (tasks, days, rewards)."""

    @property
    def answers(self) -> Numbers:
        """Return the number of answers, shape (tasks, days)."""
        return np.asarray(self.counts.sum(axis=2))

    @property
    def total(self) -> Numbers:
        """Return the sum of the rewards, shape (tasks, days)."""
        return self.counts @ self.rewards

    @property
    def squares(self) -> Numbers:
        """Return the sum of their squares, shape (tasks, days)."""
        return self.counts @ self.rewards**2

    def of(self, tasks: Sequence[int]) -> "RewardCounts":
        """Return the counts of some tasks, by index, on the days with answers of theirs."""
        counts = self.counts[list(tasks)]
        days = np.flatnonzero(counts.sum(axis=(0, 2)))
        return RewardCounts(
            tuple(self.tasks[task] for task in tasks),
            tuple(self.days[day] for day in days),
            self.rewards,
            counts[:, days],
        )


def count_rewards(scored: pl.DataFrame, tasks: Sequence[str], measured: str = "reward") -> RewardCounts:
    """Count a measure in [0, 1] of some tasks by `day` and `task`; other tasks are ignored."""
    step = (pl.col(measured).cast(pl.Float64) * STEPS - _ROUNDING).ceil().clip(0, STEPS).cast(pl.Int64).alias("step")
    found = (
        scored.lazy()
        .filter(pl.col("task").is_in(list(tasks)))
        .group_by("task", "day", step)
        .agg(pl.len().alias("count"))
        .collect()
    )
    days = sorted(found["day"].unique())
    steps = np.sort(found["step"].unique().to_numpy())
    task_number = {task: number for number, task in enumerate(tasks)}
    day_number = {day: number for number, day in enumerate(days)}
    counts = np.zeros((len(tasks), len(days), len(steps)))
    at = (
        found["task"].replace_strict(task_number, return_dtype=pl.Int64).to_numpy(),
        found["day"].replace_strict(day_number, return_dtype=pl.Int64).to_numpy(),
        np.searchsorted(steps, found["step"].to_numpy()),
    )
    counts[at] = found["count"].to_numpy()
    return RewardCounts(tuple(tasks), tuple(days), steps / STEPS, counts)


_FEW: tuple[pl.Expr, ...] = (
    pl.len().cast(pl.Int64).alias("answers"),
    pl.col("reward").sum().alias("total"),
    (pl.col("reward") ** 2).sum().alias("squares"),
    pl.col("valid").mean().alias("valid_share"),
    pl.col("answered").mean().alias("answered_share"),
    pl.col("characters").median().alias("characters"),
    pl.col("latency_ms").quantile(0.5, "linear").alias("latency_p50"),
    pl.col("latency_ms").quantile(0.95, "linear").alias("latency_p95"),
    pl.col("cost").mean().alias("cost_per_analysis"),
)


def daily_figures(scored: pl.DataFrame) -> pl.DataFrame:
    """Return one row per task and day with answers, and one per day for `all` of them, in the day's own mix of tasks.

    `low` and `high` are a 95 % interval of the mean; `valid_share` is of the answers whose task has a form (null if
    none has); latencies are in milliseconds, costs in US dollars (null without any); `all` is first.
    """
    by_task = scored.lazy().group_by("task", "day").agg(*_FEW)
    together = scored.lazy().group_by("day").agg(*_FEW).select(pl.lit(ALL).alias("task"), pl.all())
    found = pl.concat([together, by_task]).sort(pl.col("task").cast(pl.Enum([ALL, *TASK_NAMES])), "day").collect()
    answers, total, squares = (found[name].cast(pl.Float64).to_numpy() for name in ("answers", "total", "squares"))
    low, high = interval(answers, total, squares)
    return found.select(
        *("task", "day", "answers"),
        pl.Series("mean", total / answers),
        pl.Series("low", low),
        pl.Series("high", high),
        *("valid_share", "answered_share", "characters", "latency_p50", "latency_p95", "cost_per_analysis"),
    )
