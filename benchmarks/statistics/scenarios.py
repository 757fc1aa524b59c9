"""Simulated scores in [0, 1] on a grid, whose true mean difference is known, for `benchmarks.statistics`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from schemas.tasks import TaskName

Numbers = NDArray[np.float64]

STEP: Final = 0.05
"""Grid of the scores."""
LATENT_SPREAD: Final = 0.45
"""Standard deviation of the latent value that is clipped at 0 and 1: scores of .34 or so, as the V4.2 report says of
its rewards."""
CORRELATION: Final = 0.3
"""Correlation of the noise in two models' answers to one prompt, in addition to the prompt's own effect."""
PROMPT_SHARE: Final = 0.5
"""The prompt's share of the latent variance."""
NULL_MEANS: Final[Mapping[TaskName, float]] = {
    "extraction": 0.558,
    "sql_qa": 0.521,
    "insights": 0.400,
    "push": 0.439,
    "sentiment": 0.200,
    "churn": 0.100,
}
"""Mean score by task where both models are equally good: the V4.2 report's of the base model, and two zero-heavy."""

NULL_SPREADS: Final[Mapping[int, tuple[float, ...]]] = {1: (0.0,), 3: (0.0, 0.05)}
"""Standard deviation that a training's luck adds to all latent scores, by number of training seeds."""
SEED_SPREADS: Final = (0.0, 0.02, 0.05, 0.10)
"""The same, where the interval over new trainings is measured."""


@dataclass(frozen=True)
class Answers:
    """Model of two models' scores: a latent normal value, rounded to the grid and clipped at 0 and 1."""

    base_mean: float
    """Mean score of the base model."""
    tuned_mean: float
    """Mean score of the tuned model."""
    correlation: float
    """Correlation of the latent values of two models' answers to one prompt."""
    seed_spread: float = 0.0
    """Standard deviation of a training seed's latent luck, which is part of the tuned model's latent spread."""
    step: float = STEP
    """The grid."""
    zeros: float = 0.0
    """Probability that an answer scores 0 whatever its latent value, independently for each model."""

    @property
    def true_difference(self) -> float:
        """Mean difference over all prompts and trainings."""
        return (1 - self.zeros) * (self.tuned_mean - self.base_mean)

    def draw(self, rng: np.random.Generator, prompts: int, luck: Numbers) -> tuple[Numbers, Numbers]:
        """Return the base's and the tuned model's scores, each of shape (prompts, seeds); the base answers once.

        Args:
            rng: Source of the answers' randomness.
            prompts: Prompts to answer.
            luck: A standard normal number for each training seed, the same for all tasks.
        """
        seeds = len(luck)
        ability = math.sqrt(self.correlation) * rng.normal(size=(prompts, 1))
        noise = rng.normal(size=(prompts, seeds + 1))
        base_noise = math.sqrt(1 - self.correlation)
        tuned_noise = math.sqrt(1 - self.correlation - (self.seed_spread / LATENT_SPREAD) ** 2)
        base = _latent_mean(self.base_mean, self.step) + LATENT_SPREAD * (ability + base_noise * noise[:, :1])
        tuned = _latent_mean(self.tuned_mean, self.step) + LATENT_SPREAD * (
            ability + self.seed_spread / LATENT_SPREAD * luck + tuned_noise * noise[:, 1:]
        )
        scores = np.where(
            rng.random((prompts, seeds + 1)) < self.zeros, 0.0, _on_grid(np.hstack((base, tuned)), self.step)
        )
        return np.repeat(scores[:, :1], seeds, axis=1), scores[:, 1:]


@dataclass(frozen=True)
class Choices:
    """Differences drawn from a few values."""

    values: tuple[float, ...]
    """The differences that occur."""
    shares: tuple[float, ...]
    """Probability of each."""

    @property
    def true_difference(self) -> float:
        """Mean difference over all prompts."""
        return float(np.dot(self.values, self.shares))

    def draw(self, rng: np.random.Generator, prompts: int, luck: Numbers) -> tuple[Numbers, Numbers]:
        """Return the base's and the tuned model's scores, each of shape (prompts, seeds); luck is ignored."""
        differences = rng.choice(self.values, (prompts, 1), p=self.shares)
        base = np.where(differences < 0, -differences, 0.0)
        return np.repeat(base, len(luck), axis=1), np.repeat(base + differences, len(luck), axis=1)


SKEWED: Final = Choices((0.05, -0.25), (0.8, 0.2))
"""The case that Wilcoxon's test calls an improvement: its mean is -.010."""


def null(task: TaskName, seed_spread: float) -> Answers:
    """Return equally good models: a prompt's answers share the prompt's effect and correlated noise."""
    mean = NULL_MEANS[task]
    return Answers(mean, mean, PROMPT_SHARE + (1 - PROMPT_SHARE) * CORRELATION, seed_spread)


def with_spread(base_mean: float, tuned_mean: float, spread: float) -> Answers:
    """Return models whose differences have a given standard deviation, by the correlation of their answers."""

    # The same numbers for every correlation make the standard deviation a smooth function of it.
    def beyond(correlation: float) -> float:
        base, tuned = Answers(base_mean, tuned_mean, correlation).draw(np.random.default_rng(0), 200_000, np.zeros(1))
        return float(np.std(tuned - base)) - spread

    return Answers(base_mean, tuned_mean, float(brentq(beyond, 0.0, 0.995, xtol=1e-4)))


@cache
def _latent_mean(mean: float, step: float) -> float:
    """Return the latent mean whose scores have a given mean, from the exact probabilities of the grid's values."""
    grid = np.arange(round(1 / step) + 1) * step
    ends = np.concatenate(([-np.inf], grid[:-1] + step / 2, [np.inf]))

    def beyond(latent: float) -> float:
        return float(np.diff(ndtr((ends - latent) / LATENT_SPREAD)) @ grid) - mean

    return float(brentq(beyond, -3, 4))


def _on_grid(latent: Numbers, step: float) -> Numbers:
    scores: Numbers = np.clip(np.floor(latent / step + 0.5) * step, 0, 1)
    return scores


COVERED: Final[Mapping[str, Answers | Choices]] = {
    "equal, alike": Answers(0.486, 0.486, 0.65),
    "equal, unlike": Answers(0.400, 0.400, 0.0),
    "gain of .164": Answers(0.558, 0.722, 0.5),
    "gain of .201": Answers(0.400, 0.601, 0.5),
    "tenths, near 1": Answers(0.80, 0.85, 0.5, step=0.1),
    "quarters": Answers(0.30, 0.40, 0.5, step=0.25),
    "half are 0": Answers(0.60, 0.70, 0.3, zeros=0.5),
    "nearly all 0": Answers(0.05, 0.15, 0.3),
    "60 % ties": Choices((-0.4, -0.1, 0.0, 0.1, 0.4), (0.05, 0.12, 0.6, 0.15, 0.08)),
    "skewed, losses": SKEWED,
    "skewed, gains": Choices((0.0, 0.1, 0.25, -0.2, 0.6), (0.5, 0.2, 0.1, 0.15, 0.05)),
    "rare large gains": Choices((0.0, 0.05, 0.5), (0.8, 0.1, 0.1)),
}
"""Scenarios in which the interval's coverage is measured, by name."""
