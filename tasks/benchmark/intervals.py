"""Intervals of a mean of scores by the bootstrap over questions (Efron and Tibshirani 1993, 13.3), in plain Python."""

import random
from collections.abc import Sequence
from statistics import fmean
from typing import Final, NamedTuple

RESAMPLES: Final = 2_000
COVERAGE: Final = 0.95


class Mean(NamedTuple):
    """Mean of scores with its interval."""

    value: float
    low: float
    high: float


def mean_with_interval(scores: Sequence[float]) -> Mean:
    """Return the mean of some questions' scores, each in [0, 1], with the percentile interval of `COVERAGE`.

    Args:
        scores: The score of each question, one or more; of several answers to a question their mean.
    """
    generator = random.Random(0)
    means = sorted(fmean(generator.choices(scores, k=len(scores))) for _ in range(RESAMPLES))
    cut = round((1 - COVERAGE) / 2 * RESAMPLES)
    return Mean(fmean(scores), means[cut], means[-1 - cut])
