"""Simulated scores in [0, 1] on a grid, whose true mean difference is known, through the deciding functions."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from schemas.documents import PairedScore
from schemas.tasks import TaskName
from tasks.evaluate.compare import compare
from tasks.evaluate.gate import decide
from tasks.evaluate.stats.resampling import mean_interval
from tasks.evaluate.stats.statistics import measure
from tasks.evaluate.stats.variance import ALPHA

Numbers = NDArray[np.float64]

SEED: Final = 20_260
RESAMPLES: Final = 2_000
STEP: Final = 0.05
"""Grid of the scores."""
LATENT_SPREAD: Final = 0.45
"""Standard deviation of the latent value that is clipped at 0 and 1: scores of .34 or so, as the V4.2 report says of
its rewards."""
CORRELATION: Final = 0.65
"""Correlation of the latent values of two equally good models' answers to one prompt."""
NULL_MEANS: Final[Mapping[TaskName, float]] = {
    "extraction": 0.558,
    "sql_qa": 0.521,
    "insights": 0.400,
    "push": 0.439,
    "sentiment": 0.200,
    "churn": 0.100,
}
"""Mean score by task where both models are equally good: the V4.2 report's of the base model, and two zero-heavy."""
MARGIN: Final = 0.05
WIDE_MARGIN: Final = 0.5
"""A margin that no loss approaches, so that the gate depends on its other conditions alone."""
SAME: Final = 1e-9
"""Differences nearer than this are rounding errors."""


@dataclass(frozen=True)
class Answers:
    """Model of two models' scores: a latent normal value, rounded to the grid and clipped at 0 and 1."""

    base_mean: float
    tuned_mean: float
    correlation: float
    """Of the latent values of two models' answers to one prompt."""
    seed_spread: float = 0.0
    """Standard deviation of a training seed's latent luck, which is part of the tuned model's latent spread."""
    step: float = STEP
    zeros: float = 0.0
    """Probability that an answer scores 0 whatever its latent value, independently for each model."""

    @property
    def true_difference(self) -> float:
        """Mean difference over all prompts and trainings."""
        return (1 - self.zeros) * (self.tuned_mean - self.base_mean)

    def draw(self, rng: np.random.Generator, prompts: int, luck: Numbers) -> tuple[Numbers, Numbers]:
        """Return the base's and the tuned model's scores, each of shape (prompts, seeds); the base answers once.

        `luck` is a standard normal number for each training seed, the same for all tasks.
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
        latent = np.hstack((base, tuned))
        scores = np.clip(np.floor(latent / self.step + 0.5) * self.step, 0, 1)
        scores = np.where(rng.random((prompts, seeds + 1)) < self.zeros, 0.0, scores)
        return np.repeat(scores[:, :1], seeds, axis=1), scores[:, 1:]


@dataclass(frozen=True)
class Choices:
    """Differences drawn from a few values with their probabilities."""

    values: tuple[float, ...]
    shares: tuple[float, ...]

    @property
    def true_difference(self) -> float:
        """Mean difference over all prompts."""
        return float(np.dot(self.values, self.shares))

    def draw(self, rng: np.random.Generator, prompts: int, luck: Numbers) -> tuple[Numbers, Numbers]:
        """Return the base's and the tuned model's scores, each of shape (prompts, seeds); luck is ignored."""
        differences = rng.choice(self.values, (prompts, 1), p=self.shares)
        base = np.where(differences < 0, -differences, 0.0)
        return np.repeat(base, len(luck), axis=1), np.repeat(base + differences, len(luck), axis=1)


@cache
def _latent_mean(mean: float, step: float) -> float:
    """Return the latent mean whose scores have a given mean, from the exact probabilities of the grid's values."""
    grid = np.arange(round(1 / step) + 1) * step
    ends = np.concatenate(([-np.inf], grid[:-1] + step / 2, [np.inf]))

    def beyond(latent: float) -> float:
        return float(np.diff(ndtr((ends - latent) / LATENT_SPREAD)) @ grid) - mean

    return float(brentq(beyond, -3, 4))


SKEWED: Final = Choices((0.05, -0.25), (0.8, 0.2))
"""The case that Wilcoxon's test calls an improvement: its mean is -.010."""
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


Draw = Callable[[np.random.Generator], Mapping[str, bool]]
"""One simulated decision: what is claimed."""


def simulate(part: tuple[Draw, int, tuple[int, int]]) -> Counter[str]:
    """Return how often each thing is claimed in so many decisions, drawn from a stream of randomness."""
    draw, count, stream = part
    rng = np.random.default_rng((SEED, *stream))
    counts = Counter[str]()
    for _ in range(count):
        # Also of what is never claimed.
        counts.update({name: int(claimed) for name, claimed in draw(rng).items()})
    return counts


def equally_good(prompts: int, seeds: int, seed_spread: float, rng: np.random.Generator) -> dict[str, bool]:
    """Compare two equally good models on six tasks, which have so many prompts together."""
    base: list[PairedScore] = []
    tuned: list[PairedScore] = []
    luck = rng.normal(size=seeds)
    for number, (task, mean) in enumerate(NULL_MEANS.items()):
        # 65 prompts are 10 or 11 per task.
        size = prompts // len(NULL_MEANS) + (number < prompts % len(NULL_MEANS))
        drawn = Answers(mean, mean, CORRELATION, seed_spread).draw(rng, size, luck)
        base += _rows(task, drawn[0][:, :1])
        tuned += _rows(task, drawn[1])
    found = compare(base, tuned, margin=MARGIN, resamples=RESAMPLES, seed=int(rng.integers(2**31)))
    wide = decide(found.scores, found.seed_differences, WIDE_MARGIN, None)
    return {
        "promoted": found.gate.verdict == "promote",
        "promoted, wide": wide.verdict == "promote",
        "overall better": found.overall.verdict == "better",
        "a task better": any(block.verdict == "better" for block in found.tasks.values()),
    }


def skewed_loss(prompts: int, rng: np.random.Generator) -> dict[str, bool]:
    """Measure a block of many small gains and a few large losses."""
    base, tuned = SKEWED.draw(rng, prompts, np.zeros(1))
    block = measure(base, tuned, margin=MARGIN, resamples=RESAMPLES, rng=rng)
    return {"better": block.verdict == "better", "Wilcoxon": block.p_wilcoxon < ALPHA}


def interval_holds(name: str, prompts: int, rng: np.random.Generator) -> dict[str, bool]:
    """Make an interval of a difference whose true mean is known."""
    base, tuned = COVERED[name].draw(rng, prompts, np.zeros(1))
    interval = mean_interval(np.round(tuned - base, 9), RESAMPLES, rng)
    if interval is None:
        raise AssertionError(f"{prompts} prompts have an interval")
    return {"stated": interval.low - SAME <= COVERED[name].true_difference <= interval.high + SAME}


def _rows(task: TaskName, scores: Numbers) -> list[PairedScore]:
    return [
        PairedScore(task=task, prompt_id=f"{task}-{prompt}", seed=seed, sample=0, score=score)
        for prompt, by_seed in enumerate(scores.tolist())
        for seed, score in enumerate(by_seed)
    ]
