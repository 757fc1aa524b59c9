"""How often each reward was given, by task and day: all that the search for drift needs to know of the answers."""

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
    """Counts of rewards."""

    tasks: tuple[str, ...]
    """Which tasks, in the order of the first axis."""
    days: tuple[date, ...]
    """Which days, in order: the second axis. A day without answers is not there."""
    rewards: Numbers
    """The rewards that occur, in steps of 1/1000: the third axis."""
    counts: Numbers
    """How often, shape (tasks, days, rewards)."""

    @property
    def answers(self) -> Numbers:
        """Answers, shape (tasks, days)."""
        return np.asarray(self.counts.sum(axis=2))

    @property
    def total(self) -> Numbers:
        """Sum of the rewards, shape (tasks, days)."""
        return self.counts @ self.rewards

    @property
    def squares(self) -> Numbers:
        """Sum of their squares, shape (tasks, days)."""
        return self.counts @ self.rewards**2

    def of(self, tasks: Sequence[int]) -> "RewardCounts":
        """Return the counts of some tasks, by their numbers, on the days on which they had answers."""
        counts = self.counts[list(tasks)]
        days = np.flatnonzero(counts.sum(axis=(0, 2)))
        return RewardCounts(
            tuple(self.tasks[task] for task in tasks),
            tuple(self.days[day] for day in days),
            self.rewards,
            counts[:, days],
        )


def count_rewards(scored: pl.DataFrame, tasks: Sequence[str]) -> RewardCounts:
    """Count the rewards of some tasks.

    Args:
        scored: Scored answers: `day`, `task` and `reward` in [0, 1].
        tasks: Which tasks; the answers of others are not counted.
    """
    step = (pl.col("reward") * STEPS - _ROUNDING).ceil().clip(0, STEPS).cast(pl.Int64).alias("step")
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
