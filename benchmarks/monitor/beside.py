"""Simulated days without drift of what is compared beside the reward, for `benchmarks.monitor`.

Each measure is at the border of what must raise no alarm: production has the evaluation's true mean. Shares of answers
are near 1, where an evaluation that saw no refusal knows least; few answers have a reference; and people correct every
answer that is not perfect, so that counting the others as right changes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

import numpy as np
from scipy.stats import binom

from benchmarks.monitor.months import GRID, shares
from schemas.config.monitor import MonitorConfig
from schemas.tasks import TASK_NAMES
from tasks.monitor.drift import MEASURES_BESIDE, SHARE_OF_REWARD, Compared, Measure, find_drift
from tasks.monitor.measures import LEAST
from tasks.monitor.series import Baseline, Numbers, RewardCounts, standard_error

YES_OR_NO: Final = np.array([0.0, 1.0])
ANSWERED: Final = (1.0, 0.995, 0.98, 0.9, 0.7, 0.3)
"""True shares of the six tasks."""
VALID: Final = (0.999, 0.99, 0.97, 0.95, 0.85, 0.5)
VARIED: Final = (0.99, 0.95, 0.8, 0.7, 0.6, 0.5)
OFTEN: Final = 30 / MonitorConfig().days_between_false_alarms
"""Evidence that is an alarm where one in 30 days is promised: ten years have too few to be counted."""
KNOWN: Final = 0.1
"""Share of the answers with a reference in the log."""
_FIRST_DAY: Final = date(2026, 1, 1)
_NO_REWARDS: Final = RewardCounts(("push",), (_FIRST_DAY,), YES_OR_NO, np.array([[[0.0, 1.0]]]))
"""One good answer of a task without an evaluation: no alarm is of the reward."""


@dataclass(frozen=True)
class Beside:
    """Days of all measures beside the reward."""

    prompts: int
    """Prompts a task in the evaluation."""
    requests: int = 170
    """Answers to a task in a day, on average."""
    days: int = MonitorConfig().days

    def highest(self, stream: Sequence[int]) -> dict[Measure, float]:
        """Draw such days; return each measure's highest evidence after any of them: an alarm from 1 on."""
        drawn = dict(self._drawn(np.random.default_rng(stream)))
        found = dict.fromkeys(drawn, 0.0)
        for series in find_drift(_NO_REWARDS, {}, MonitorConfig(), beside=drawn).series:
            found[series.measure] = max(found[series.measure], *series.evidence)
        return found

    def _drawn(self, rng: np.random.Generator) -> Iterator[tuple[Measure, Compared]]:
        rewards = [shares(task, 0.0) for task in TASK_NAMES]
        yield "answered", self._compared(rng, YES_OR_NO, _yes(ANSWERED), 1.0)
        yield "valid", self._compared(rng, YES_OR_NO, _yes(VALID), 1.0)
        # Of two answers one pair; a shop's answers have the least variety that counts as kept.
        yield "varied", self._compared(rng, YES_OR_NO, _yes(VARIED), 0.5, LEAST)
        yield "reference", self._compared(rng, GRID, rewards, KNOWN)
        yield "correction", self._compared(rng, GRID, rewards, 1.0)

    def _compared(
        self, rng: np.random.Generator, values: Numbers, chances: Sequence[Numbers], part: float, kept: float = 1.0
    ) -> Compared:
        prompts = self.prompts if kept == 1.0 else self.prompts // 2
        baselines: Mapping[str, Baseline] = {
            task: _baseline(task, rng.choice(values, prompts, p=chance), kept)
            for task, chance in zip(TASK_NAMES, chances, strict=True)
        }
        if kept < 1.0:
            chances = _yes([kept * chance[1] for chance in chances])
        counts = np.stack(
            [rng.multinomial(1 + rng.poisson(self.requests * part, self.days), chance) for chance in chances]
        ).astype(float)
        days = tuple(_FIRST_DAY + timedelta(day) for day in range(self.days))
        return Compared(RewardCounts(TASK_NAMES, days, values, counts), baselines)


def _yes(shares_of_one: Sequence[float]) -> list[Numbers]:
    return [np.array([1 - share, share]) for share in shares_of_one]


def _baseline(task: str, drawn: Numbers, kept: float = 1.0) -> Baseline:
    error = standard_error(np.array(len(drawn)), drawn.sum(), (drawn**2).sum())
    return Baseline(task, kept * float(drawn.mean()), kept * float(error), len(drawn), len(drawn))


def bound(evidence: float) -> float:
    """Return the promised chance, at most, that a measure's evidence reaches this much within the window."""
    config = MonitorConfig()
    days_of_measure = config.days_between_false_alarms * evidence * len(MEASURES_BESIDE) / (1 - SHARE_OF_REWARD)
    return config.days / (2 * days_of_measure)


def lucky_chance(prompts: int, share: float, requests: int = 170) -> float:
    """Return the chance of an evaluation so lucky that production of the same true share has an alarm.

    Drawing years would seldom meet such an evaluation; so each possible one is taken, with its chance, and production
    is exactly as it is on average.

    Args:
        prompts: Prompts of the task in the evaluation.
        share: The true share of answers of valid form, or that are answers.
        requests: Answers to the task in a day.
    """
    days = MonitorConfig().days
    kept = np.array([[1 - share, share]] * days)[None] * requests
    dates = tuple(_FIRST_DAY + timedelta(day) for day in range(days))
    chance = 0.0
    for good in range(prompts + 1):
        probability = float(binom.pmf(good, prompts, share))
        if probability < 1e-12 or good / prompts <= share:
            continue
        baseline = _baseline("push", np.repeat(YES_OR_NO, [prompts - good, good]))
        compared = Compared(RewardCounts(("push",), dates, YES_OR_NO, kept), {"push": baseline})
        if find_drift(_NO_REWARDS, {}, MonitorConfig(), beside={"answered": compared}).found:
            chance += probability
    return chance
