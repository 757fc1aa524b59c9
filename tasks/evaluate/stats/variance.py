"""Variance of the mean difference, over prompts crossed with training seeds.

Every prompt is answered by every trained model, so a seed's luck is shared by all prompts and no number of prompts
averages it away. Mean squares are those of the method of moments (Searle, Casella and McCulloch, 1992, "Variance
components", 4.3), cut off at 0.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class MeanSquares:
    """Mean squares of prompts by seeds, for two or more of both."""

    prompt: float
    """Of the prompts, with (prompts - 1) degrees of freedom."""
    seed: float
    """Of the seeds, with (seeds - 1) degrees of freedom."""
    rest: float
    """Of the residual, with the product of the two degrees of freedom."""


def mean_squares(differences: Numbers) -> MeanSquares:
    """Return the mean squares of differences of shape (prompts, seeds), 2 or more of each."""
    n_prompts, n_seeds = differences.shape
    by_prompt, by_seed = differences.mean(axis=1), differences.mean(axis=0)
    rest = differences - by_prompt[:, None] - by_seed + differences.mean()
    return MeanSquares(
        prompt=n_seeds * float(np.var(by_prompt, ddof=1)),
        seed=n_prompts * float(np.var(by_seed, ddof=1)),
        rest=float(np.sum(rest**2)) / ((n_prompts - 1) * (n_seeds - 1)),
    )


@dataclass(frozen=True)
class MeanVariance:
    """Variance of the mean difference: `per_prompt` / prompts + `shared`."""

    per_prompt: float
    """The part that more prompts average away: the variance of one prompt's mean over the seeds."""
    shared: float
    """The part that only more training seeds average away."""


def mean_variance(differences: Numbers) -> MeanVariance:
    """Return the variance of the mean of differences of shape (prompts, seeds), with two prompts or more."""
    n_prompts, n_seeds = differences.shape
    per_prompt = float(np.var(differences.mean(axis=1), ddof=1))
    if n_seeds < 2:
        return MeanVariance(per_prompt, 0.0)
    squares = mean_squares(differences)
    return MeanVariance(per_prompt, max(0.0, squares.seed - squares.rest) / (n_prompts * n_seeds))


def error_of_the_mean(differences: Numbers) -> tuple[float, float]:
    """Return the variance of the mean and its degrees of freedom, of (prompts, seeds) with two prompts or more.

    With several seeds the degrees of freedom are those of its mean squares (Satterthwaite, 1946).
    """
    n_prompts, n_seeds = differences.shape
    if n_seeds < 2:
        return float(np.var(differences, ddof=1)) / n_prompts, float(n_prompts - 1)
    squares = mean_squares(differences)
    parts = [(squares.prompt, n_prompts - 1)]
    if squares.seed > squares.rest:
        parts += [(squares.seed, n_seeds - 1), (-squares.rest, (n_prompts - 1) * (n_seeds - 1))]
    total = sum(square for square, _ in parts)
    if total == 0:
        return 0.0, float(n_prompts - 1)
    freedom = total**2 / sum(square**2 / degrees for square, degrees in parts)
    return total / (n_prompts * n_seeds), freedom


SMALLEST_EFFECT: Final = 1e-4
"""Smaller score differences are irrelevant, and no number of prompts shows them."""
ALPHA: Final = 0.05
POWER: Final = 0.80


def detectable_effect(variance: MeanVariance, prompts: int) -> float:
    """Return the true difference found with power .80 by a one-sided test at .05: 2.487 standard errors."""
    return _normal_distance() * math.sqrt(variance.per_prompt / prompts + variance.shared)


def prompts_needed(variance: MeanVariance, effect: float) -> int | None:
    """Return the smallest number of prompts, 2 or more, that detects `effect`; None if there is none."""
    left = (effect / _normal_distance()) ** 2 - variance.shared
    return max(2, math.ceil(variance.per_prompt / left)) if left > 0 else None


def _normal_distance() -> float:
    from scipy.special import ndtri

    return float(ndtri(1 - ALPHA) + ndtri(POWER))
