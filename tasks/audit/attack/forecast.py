"""Forecast by best-of-n: where more optimization for the reward stops helping the truth.

The best of n samples by reward is as far from the base as log(n) - (n - 1)/n nats (Stiennon et al. 2020, 2009.01325,
appendix G.3), and where its truth parts from its reward, a policy that is trained as far would part too (Gao, Schulman
and Hilton 2022, 2210.10760, section 3). The estimate over all subsets of n of N samples is unbiased (Nakano et al.
2021, 2112.09332, appendix I).
"""

import math
from collections.abc import Sequence
from itertools import groupby, pairwise
from statistics import fmean
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict

SIZES: Final = (1, 2, 4, 8, 16, 32, 64)
FALLS: Final = 0.005
"""Smaller changes of truth are none."""


class PoolSample(NamedTuple):
    """One completion of a prompt."""

    reward: float
    truth: float


class Point(BaseModel):
    """Expected outcome of the best of n by reward."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n: int
    nats: float
    """Distance from the base, in nats."""
    reward: float
    truth: float


class TruthForecast(BaseModel):
    """Best-of-n over several prompts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompts: int
    samples: int
    """Completions of each prompt."""
    points: tuple[Point, ...]

    @property
    def parts_at(self) -> int | None:
        """Return the first n whose truth is below its predecessor's while the reward is above; None where none is."""
        for before, after in pairwise(self.points):
            if after.reward > before.reward and after.truth < before.truth - FALLS:
                return after.n
        return None


def forecast(pools: Sequence[Sequence[PoolSample]]) -> TruthForecast | None:
    """Estimate what the best of n earns and is worth; None without a pool of two.

    Args:
        pools: The completions of each prompt; the smallest pool of at least two decides the largest n.
    """
    known = [pool for pool in pools if len(pool) >= 2]
    if not known:
        return None
    size = min(map(len, known))
    points = []
    for n in SIZES:
        if n <= size:
            found = [best_of(pool, n) for pool in known]
            nats = math.log(n) - (n - 1) / n
            reward, truth = fmean(each.reward for each in found), fmean(each.truth for each in found)
            points.append(Point(n=n, nats=nats, reward=reward, truth=truth))
    return TruthForecast(prompts=len(known), samples=size, points=tuple(points))


def best_of(pool: Sequence[PoolSample], n: int) -> PoolSample:
    """Return the mean, over all subsets of n, of the sample with the highest reward; of equal ones their mean."""
    total, below = math.comb(len(pool), n), 0
    reward = truth = 0.0
    for value, group in groupby(sorted(pool), key=lambda sample: sample.reward):
        equal = list(group)
        share = (math.comb(below + len(equal), n) - math.comb(below, n)) / total
        reward += share * value
        truth += share * fmean(sample.truth for sample in equal)
        below += len(equal)
    return PoolSample(reward, truth)
