"""Reward histograms by task and day, the only input of drift detection."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np
import polars as pl

from tasks.monitor.mean_error import Numbers

STEPS: Final = 1000
"""Rewards are counted in steps of 1/1000, rounded up: the mean of a day comes out at most .001 too high."""
_ROUNDING: Final = 1e-6


@dataclass(frozen=True)
class RewardCounts:
    """Histogram of rewards."""

    tasks: tuple[str, ...]
    """The tasks, in the order of the first axis."""
    days: tuple[date, ...]
    """The days, in order: the second axis. Days without answers are missing."""
    rewards: Numbers
    """The occurring rewards, in steps of 1/1000: the third axis."""
    counts: Numbers
    """Their counts, shape (tasks, days, rewards)."""

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
    """Count the rewards of some tasks.

    Args:
        scored: Scored answers: `day`, `task` and what is measured, in [0, 1].
        tasks: The tasks to count; others are ignored.
        measured: Its column.
    """
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
