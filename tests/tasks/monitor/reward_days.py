"""Days of rewards, with exactly the means that a test asks for."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import numpy as np
import polars as pl

from tasks.monitor.series import Baseline, RewardCounts, count_rewards

FIRST = date(2026, 11, 1)
SHAPE = np.array([-0.4, -0.2, 0.0, 0.1, 0.2, 0.3])
"""Skewed, with mean 0."""


def day(number: int) -> date:
    return FIRST + timedelta(number)


def scored(means: Mapping[str, Sequence[float | None]], answers: int = 120) -> pl.DataFrame:
    """Return days of answers of each task, by their mean rewards in [.4, .7]; None is a day without."""
    rows = [
        (task, day(number), mean + off)
        for task, by_day in means.items()
        for number, mean in enumerate(by_day)
        if mean is not None
        for off in np.resize(SHAPE, answers).tolist()
    ]
    return pl.DataFrame(rows, schema={"task": pl.String, "day": pl.Date, "reward": pl.Float64}, orient="row")


def counts(means: Mapping[str, Sequence[float | None]], answers: int = 120) -> RewardCounts:
    return count_rewards(scored(means, answers), tuple(means))


def baseline(task: str, mean: float = 0.6, error: float = 0.01, prompts: int = 240) -> Baseline:
    return Baseline(task, mean, error, prompts, prompts)
