"""Resampling of a mean difference: its BCa interval, and the sign-flip test against 0."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.evaluate.stats.variance import ALPHA, Numbers, error_of_the_mean

# Up to this many differing prompts, all 65,536 sign patterns are cheap enough to enumerate.
_MAX_ENUMERATED = 16
# Differences are rounded to 1e-9, so two different sums are at least 2e-9 apart; anything closer is a rounding error.
_SAME_SUM = 5e-10
# Random numbers drawn at once: few enough to stay in a processor's cache, which makes it twice as fast.
NUMBERS_AT_ONCE = 200_000
# Means that differ only in the order of summation must tie, or the interval's bias correction miscounts them.
_DECIMALS_OF_A_MEAN = 12


@dataclass(frozen=True)
class Interval:
    """Two-sided 95 % interval of the mean difference, for new prompts and trainings, and its one-sided lower bound."""

    low: float
    high: float
    noninferiority_low: float


def mean_interval(differences: Numbers, resamples: int, rng: np.random.Generator) -> Interval | None:
    """Return the BCa interval of the mean of (prompts, seeds) (Efron, 1987, "Better bootstrap confidence intervals").

    It is a point if all differences are equal, and None for one prompt.

    Prompts are resampled and, if there are several, training seeds too, independently, because they are crossed (Owen,
    2007, "The pigeonhole bootstrap"). Samples are not resampled: lower levels enter as they are (Davison and Hinkley,
    1997, "Bootstrap methods and their application", 3.8).

    The bootstrap is too narrow for few prompts, and far too narrow for few seeds, since no resample of three seeds goes
    beyond the best of them. So its level is widened to the right one for a normal mean (see `widened`), and an end is
    never closer to the mean than Student's t puts it (see `student_distance`): `benchmarks/statistics` shows that
    both are needed to reach the nominal coverage for 20 tied scores.
    """
    n_prompts, n_seeds = differences.shape
    if n_prompts < 2:
        return None
    if np.ptp(differences) == 0:
        point = float(differences[0, 0])
        return Interval(point, point, point)
    from scipy.stats import bootstrap

    data = (np.arange(n_prompts), np.arange(n_seeds)) if n_seeds > 1 else (np.arange(n_prompts),)
    has_spread = bool(np.ptp(differences.mean(axis=1)) > _SAME_SUM or np.ptp(differences.mean(axis=0)) > _SAME_SUM)

    def mean(prompts: NDArray[np.int64], seeds: NDArray[np.int64] | None = None, axis: int = -1) -> Numbers:
        by_seed = np.stack([column[prompts].mean(axis=axis) for column in differences.T], axis=-1)
        if seeds is not None:
            by_seed = by_seed * np.mean(seeds[..., None] == np.arange(n_seeds), axis=-2)
        means: Numbers = np.round(by_seed.sum(axis=-1), _DECIMALS_OF_A_MEAN)
        return means

    drawn = bootstrap(
        data,
        mean,
        n_resamples=resamples,
        batch=max(1, NUMBERS_AT_ONCE // n_prompts),
        method="percentile",
        vectorized=True,
        rng=rng,
    )

    def ends(alpha: float) -> tuple[float, float]:
        found = bootstrap(
            data,
            mean,
            n_resamples=0,
            batch=max(1, NUMBERS_AT_ONCE // n_prompts),
            # Without spread between prompts and between seeds the acceleration is 0 / 0.
            method="BCa" if has_spread else "percentile",
            confidence_level=1 - 2 * alpha,
            vectorized=True,
            bootstrap_result=drawn,
        ).confidence_interval
        return float(found.low), float(found.high)

    def outer(alpha: float) -> tuple[float, float]:
        low, high = ends(max(widened(alpha, n_prompts), 1 / resamples))
        point, distance = float(np.mean(differences)), student_distance(differences, alpha)
        return max(-1.0, min(low, point - distance)), min(1.0, max(high, point + distance))

    low, high = outer(ALPHA / 2)
    return Interval(low, high, outer(ALPHA)[0])


def widened(alpha: float, n_prompts: int) -> float:
    """Return the level at which the bootstrap of this many prompts is as wide as Student's t (Hesterberg, 2015)."""
    from scipy.special import ndtr, stdtrit

    return float(ndtr(math.sqrt(n_prompts / (n_prompts - 1)) * stdtrit(n_prompts - 1, alpha)))


def student_distance(differences: Numbers, alpha: float) -> float:
    """Return the distance from the mean to Student's one-sided bound at level `alpha`.

    For prompts crossed with seeds the standard error is the analysis of variance's, and the degrees of freedom are
    Satterthwaite's (1946).
    """
    from scipy.special import stdtrit

    variance, freedom = error_of_the_mean(differences)
    return float(-stdtrit(freedom, alpha) * math.sqrt(variance))


def sign_flip(values: Numbers, resamples: int, rng: np.random.Generator) -> tuple[float, float]:
    """Test whether the mean is greater, and whether it is less, than 0, by flipping signs (Fisher, 1935).

    Exact while the sign patterns can be enumerated, else by Monte Carlo with (b + 1) / (m + 1), which is never 0
    (Phipson and Smyth, 2010). On signed ranks this is Wilcoxon's test by permutation, since flipping signs keeps the
    ranks; scipy's `PermutationMethod` ranks again in each resample and takes a hundred times as long.
    """
    nonzero = values[values != 0]
    if len(nonzero) == 0:
        return 1.0, 1.0
    # With F the sum of the flipped values, the sum becomes total - 2 F: as high as the total where F <= 0.
    if len(nonzero) <= _MAX_ENUMERATED:
        patterns = np.arange(2 ** len(nonzero))
        flipped = ((patterns[:, None] >> np.arange(len(nonzero))) & 1) @ nonzero
        return float(np.mean(flipped <= _SAME_SUM)), float(np.mean(flipped >= -_SAME_SUM))
    as_high = as_low = 1
    at_once = max(1, NUMBERS_AT_ONCE // len(nonzero))
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        flipped = rng.integers(0, 2, (rows, len(nonzero)), dtype=np.int8) @ nonzero
        as_high += int(np.count_nonzero(flipped <= _SAME_SUM))
        as_low += int(np.count_nonzero(flipped >= -_SAME_SUM))
    return as_high / (resamples + 1), as_low / (resamples + 1)
