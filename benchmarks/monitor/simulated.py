"""Simulated days of a served model, whose true mean reward is known.

Rewards are in [0, 1] on a grid of .05, tied and skewed: a latent normal value clipped at 0 and 1, and one answer in
twenty scores 0. The mix of tasks changes each day. The baseline is drawn from the same rewards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from schemas.config.serve import MonitorConfig
from schemas.tasks import TASK_NAMES, TaskName
from tasks.monitor.drift import find_drift
from tasks.monitor.series import Baseline, Numbers, RewardCounts, standard_error

MEANS: Final[dict[TaskName, float]] = {
    "extraction": 0.722,
    "sql_qa": 0.521,
    "insights": 0.601,
    "push": 0.439,
    "sentiment": 0.850,
    "churn": 0.650,
}
"""Mean reward by task: the V4.2 report's of its tuned model, and two more."""
DAYS: Final = 30
GRID: Final = np.arange(21) / 20
_LATENT_SPREAD: Final = 0.45
_ZEROS: Final = 0.05
_MIX: Final = 6.0
"""Concentration of the Dirichlet distribution of a day's mix: mostly shares of .04 to .36."""
_FIRST_DAY: Final = date(2026, 1, 1)


@cache
def shares(task: TaskName, offset: float) -> Numbers:
    """Return the probabilities of the rewards of the grid, of a task whose mean is moved by an offset."""
    edges = np.concatenate([[-np.inf], (GRID[:-1] + GRID[1:]) / 2, [np.inf]])

    def at(latent: float) -> Numbers:
        found = (1 - _ZEROS) * np.diff(ndtr((edges - latent) / _LATENT_SPREAD))
        found[0] += _ZEROS
        return np.asarray(found)

    wanted = float(np.clip(MEANS[task] + offset, 0.02, 0.93))
    return at(brentq(lambda latent: float(at(latent) @ GRID) - wanted, -6.0, 6.0))


def _baseline(task: str, drawn: Numbers) -> Baseline:
    error = standard_error(np.array(len(drawn)), drawn.sum(), (drawn**2).sum())
    return Baseline(task, float(drawn.mean()), float(error), len(drawn), len(drawn))


@dataclass(frozen=True)
class Month:
    """A champion's month."""

    prompts: int
    """Prompts per task in its evaluation."""
    requests: int = 1000
    """Mean number of a day."""
    wander: float = 0.0
    """Standard deviation of a day's true mean, for each task independently."""
    drop: float = 0.0
    """Fall of every task's mean."""
    drop_day: int = 0
    """The first day of the fall, from 0."""
    days: int = DAYS

    def alarm(self, stream: Sequence[int]) -> int | None:
        """Draw such a month; return the first day, from 0, on which there is an alarm, of drift or of the floor."""
        baselines, rewards = self._drawn(stream)
        drift = find_drift(rewards, baselines, MonitorConfig())
        alarms = [each.alarm for each in drift.series if each.alarm] + [each.day for each in drift.floor]
        return min((rewards.days.index(day) for day in alarms), default=None)

    def daily_alarm(self, stream: Sequence[int]) -> int | None:
        """Draw such days; run daily over the configured window, as the deployment does, until a run has an alarm."""
        config = MonitorConfig()
        baselines, drawn = self._drawn(stream)
        window = min(config.days, self.days)
        # Earlier runs see part of the first run's days: no day's evidence is from later days.
        for last in range(window - 1, self.days):
            seen = slice(last + 1 - window, last + 1)
            rewards = RewardCounts(drawn.tasks, drawn.days[seen], drawn.rewards, drawn.counts[:, seen])
            if find_drift(rewards, baselines, config).found:
                return last
        return None

    def _drawn(self, stream: Sequence[int]) -> tuple[dict[str, Baseline], RewardCounts]:
        rng = np.random.default_rng(stream)
        baselines: dict[str, Baseline] = {
            task: _baseline(task, rng.choice(GRID, self.prompts, p=shares(task, 0.0))) for task in TASK_NAMES
        }
        counts = np.stack([self._day(day, rng) for day in range(self.days)], axis=1)
        dates = tuple(_FIRST_DAY + timedelta(day) for day in range(self.days))
        return baselines, RewardCounts(TASK_NAMES, dates, GRID, counts)

    def _day(self, day: int, rng: np.random.Generator) -> Numbers:
        sizes = rng.multinomial(rng.poisson(self.requests), rng.dirichlet(np.full(len(TASK_NAMES), _MIX)))
        offsets = rng.normal(size=len(TASK_NAMES)) * self.wander - (self.drop if day >= self.drop_day else 0.0)
        rewards = [
            rng.multinomial(size, shares(task, round(float(offset), 2)))
            for task, size, offset in zip(TASK_NAMES, sizes, offsets, strict=True)
        ]
        return np.array(rewards, dtype=float)
