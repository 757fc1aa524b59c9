"""Median baseline of MC-GRPO (2601.22582): the group's median in place of its mean."""

from dataclasses import replace
from typing import Final

import torch
from torch import Tensor

from tasks.train.methods.method import Advantages, Method, ScoredBatch

EQUAL: Final = 1e-6
"""Two rewards closer than this count as equal: the float32 rounding error of sums in [0, 1]."""
SMALL_DEVIATION: Final = 1e-3
"""Added to the deviation before division (MC-GRPO)."""
LARGEST: Final = 5.0
"""Bound of a median advantage. The MAD of normal rewards is 0.67 of their standard deviation, so this is 3.4
deviations, which few rewards of a group reach; only a MAD near zero gives more."""


def median_advantages(rewards: Tensor, generations: int) -> Tensor:
    """Compute (r - median) / (MAD + 0.001) of each rollout in its group: MC-GRPO (2601.22582).

    MAD is the median of |r - median|. The median rollout gets exactly 0 and drops out of the update; the paper
    therefore samples one rollout more than it wants to learn from.

    If most rollouts earn the same, MAD is 0 and the paper's formula gives about a thousand. Such a group uses its
    standard deviation instead, so a single outlier gets the square root of `generations`.
    """
    if generations < 3 or generations % 2 == 0:
        raise ValueError(f"the median of {generations} rollouts is none of them; use an odd number from 3 on")
    if len(rewards) % generations:
        raise ValueError(f"{len(rewards)} rollouts are no whole groups of {generations}")
    groups = rewards.view(-1, generations)
    differences = groups - groups.median(dim=1, keepdim=True).values
    deviation = differences.abs().median(dim=1, keepdim=True).values
    spread = torch.where(deviation < EQUAL, groups.std(dim=1, keepdim=True), deviation)
    return (differences / (spread + SMALL_DEVIATION)).clamp(-LARGEST, LARGEST).flatten()


def _advantages(batch: ScoredBatch, advantages: Advantages) -> Advantages:
    return replace(advantages, values=median_advantages(batch.rewards, batch.recipe.generations))


METHOD: Final = Method(order=30, is_on=lambda recipe: recipe.baseline == "median", advantages=_advantages)
