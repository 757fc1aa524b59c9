"""Advantage estimators missing from TRL: pure functions over B rollouts, groups of `generations` in a row."""

import math
from collections.abc import Callable, Sequence
from typing import Final

import torch
from torch import Tensor

from tasks.train.methods.blockwise import Block

EQUAL: Final = 1e-6
"""Two rewards closer than this count as equal: the float32 rounding error of sums in [0, 1]."""
SMALL_DEVIATION: Final = 1e-3
"""Added to the deviation before division (MC-GRPO)."""
LARGEST: Final = 5.0
"""Bound of a median advantage. The MAD of normal rewards is 0.67 of their standard deviation, so this is 3.4
deviations, which few rewards of a group reach; only a MAD near zero gives more."""
ENTROPY_SCALES: Final = (0.5, 2.0)
"""Bounds of EDGE's scale. Unbounded, a rollout with almost no entropy would dominate the step; within these bounds no
rollout counts more than four times another for its entropy alone."""
SMALL_ENTROPY: Final = 1e-6
"""Nats; keeps the scale at 1 when no rollout of the batch has any entropy."""


def zero_variance(rewards: Tensor, generations: int) -> Tensor:
    """Mark the groups without learning signal, because all their rollouts earned the same.

    TRL's `frac_reward_zero_std` describes the whole batch where rewards are normalized over it, as in GDPO.

    Args:
        rewards: Total rewards, finite; shape (B,).
        generations: Rollouts of a group; divides B.

    Returns:
        Booleans of shape (B / generations,).

    Raises:
        ValueError: The rewards are not whole groups.
    """
    groups = _groups(rewards, generations)
    return groups.amax(dim=1) - groups.amin(dim=1) < EQUAL


def median_advantages(rewards: Tensor, generations: int) -> Tensor:
    """Compute (r - median) / (MAD + 0.001) of each rollout in its group: MC-GRPO (2601.22582).

    MAD is the median of |r - median|. The median rollout gets exactly 0 and drops out of the update; the paper
    therefore samples one rollout more than it wants to learn from.

    If most rollouts earn the same, MAD is 0 and the paper's formula gives about a thousand. Such a group uses its
    standard deviation instead, so a single outlier gets the square root of `generations`.

    Args:
        rewards: Total rewards, finite; shape (B,).
        generations: Rollouts of a group, an odd number >= 3; divides B.

    Returns:
        Advantages of shape (B,), in [-5, 5].

    Raises:
        ValueError: `generations` is even, or the rewards are not whole groups.
    """
    if generations < 3 or generations % 2 == 0:
        raise ValueError(f"the median of {generations} rollouts is none of them; use an odd number from 3 on")
    groups = _groups(rewards, generations)
    differences = groups - groups.median(dim=1, keepdim=True).values
    deviation = differences.abs().median(dim=1, keepdim=True).values
    spread = torch.where(deviation < EQUAL, groups.std(dim=1, keepdim=True), deviation)
    return (differences / (spread + SMALL_DEVIATION)).clamp(-LARGEST, LARGEST).flatten()


def entropy_scale(entropies: Tensor, mask: Tensor, summed: Callable[[Tensor], Tensor] = Tensor.clone) -> Tensor:
    """Return EDGE-GRPO's (2507.21848) advantage factor: the batch's mean entropy over the rollout's own.

    A confident rollout counts more than a hesitant one, whether right or wrong.

    Args:
        entropies: Entropy of each token's distribution, in nats; shape (B, T). Padding may hold anything.
        mask: True or 1 for completion tokens; shape (B, T).
        summed: Sums a tensor over the processes that share the batch.

    Returns:
        Factors of shape (B,) without a gradient, in [0.5, 2]; 1 for a rollout without tokens, which is also left out of
        the batch's mean.
    """
    completion = mask.bool()
    tokens = completion.sum(dim=1)
    own = torch.where(completion, entropies.detach(), 0.0).sum(dim=1) / tokens.clamp(min=1)
    wrote = tokens > 0
    mean = summed(own.sum()) / summed(wrote.sum()).clamp(min=1)
    scale = ((mean + SMALL_ENTROPY) / (own + SMALL_ENTROPY)).clamp(*ENTROPY_SCALES)
    return torch.where(wrote, scale, 1.0)


def blockwise_advantages(
    blocks: Sequence[Sequence[Block]], block_of_token: Tensor, advantages: Tensor, generations: int
) -> Tensor:
    """Give each token the advantage of its block: Blockwise Advantage Estimation (2602.10231).

    A block's advantage is its reward minus the mean reward of the same block over the group's rollouts whose preceding
    text had the same outcome: all blocks right so far, or not. The paper also uses two outcomes; more would leave
    groups of 8 to 16 too few rollouts to compare. If no other rollout shares the outcome, the mean is over the whole
    group. A missing block counts as a reward of 0 after all present blocks, so that writing the field at all has value.

    Advantages of blocks are differences of rewards, in (-1, 1), not divided by a deviation.

    Args:
        blocks: The blocks of each rollout in text order; length B.
        block_of_token: Index of each token's block among its rollout's blocks, -1 for none; shape (B, T).
        advantages: Advantage of each whole completion, used for tokens outside blocks; shape (B,).
        generations: Rollouts of a group; divides B.

    Returns:
        Advantages of shape (B, T).

    Raises:
        ValueError: The rollouts are not whole groups, or the arguments differ in length.
    """
    _groups(advantages, generations)
    if not len(blocks) == len(block_of_token) == len(advantages):
        raise ValueError(f"blocks of {len(blocks)} and tokens of {len(block_of_token)} for {len(advantages)} rollouts")
    # The extra first column is for tokens outside blocks, whose index is -1.
    by_block = advantages.new_zeros(len(blocks), 1 + max(map(len, blocks), default=0))
    by_block[:, 0] = advantages
    for start in range(0, len(blocks), generations):
        for row, found in enumerate(_of_group(blocks[start : start + generations]), start):
            by_block[row, 1 : 1 + len(found)] = advantages.new_tensor(found)
    return by_block.gather(1, block_of_token + 1)


def _of_group(group: Sequence[Sequence[Block]]) -> list[list[float]]:
    """Return the block advantages of each rollout."""
    advantages: list[list[float]] = [[] for _ in group]
    earned = [{block.name: block.reward for block in rollout} for rollout in group]
    right_before = [_right_before(rollout) for rollout in group]
    for row, rollout in enumerate(group):
        for block in rollout:
            # The last entry is the outcome of the whole text, which a missing block would follow.
            outcomes = [before.get(block.name, before[None]) for before in right_before]
            rewards = [blocks.get(block.name, 0.0) for blocks in earned]
            alike = [reward for reward, outcome in zip(rewards, outcomes, strict=True) if outcome == outcomes[row]]
            compared = alike if len(alike) > 1 else rewards
            advantages[row].append(block.reward - math.fsum(compared) / len(compared))
    return advantages


def _right_before(rollout: Sequence[Block]) -> dict[str | None, bool]:
    """Return, for each block, whether all blocks before it were right; under None, whether all were."""
    right = True
    found: dict[str | None, bool] = {}
    for block in rollout:
        found[block.name] = right
        right = right and block.is_right
    found[None] = right
    return found


def _groups(values: Tensor, generations: int) -> Tensor:
    if len(values) % generations:
        raise ValueError(f"{len(values)} rollouts are no whole groups of {generations}")
    return values.view(-1, generations)
