"""The advantage estimators that TRL lacks: pure functions over B rollouts, groups of `generations` in a row."""

import math
from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from tasks.train.blocks import Block

EQUAL: Final = 1e-6
"""Two rewards nearer than this are the same reward: it is what float32 rounds away of sums in [0, 1]."""
SMALL_DEVIATION: Final = 1e-3
"""What MC-GRPO adds to the deviation before it divides."""
LARGEST: Final = 5.0
"""Bound of a median advantage. The MAD of normal rewards is 0.67 of their standard deviation, so that it lies 3.4
deviations out, where hardly any of a group's rewards are; only a MAD next to nothing gives more."""
ENTROPY_SCALES: Final = (0.5, 2.0)
"""Bounds of EDGE's scale. Unbounded, a rollout whose entropy is next to nothing would be the whole step; within these
no rollout counts more than four times another for its entropy alone."""
SMALL_ENTROPY: Final = 1e-6
"""Nats; keeps rollouts without any entropy at a scale of 1 where no other rollout has any."""


def zero_variance(rewards: Tensor, generations: int) -> Tensor:
    """Tell which groups teach nothing, because all their rollouts earned the same.

    TRL's `frac_reward_zero_std` is of the whole batch where rewards are normalized over it, as GDPO does.

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
    """Compare each rollout with its group's median: (r - median) / (MAD + 0.001), MC-GRPO (2601.22582).

    MAD is the median of |r - median|. The median rollout gets exactly 0, which drops it from the update; the paper
    therefore samples one more than it wants to learn from.

    Where most rollouts earn the same, MAD is 0 and the paper's formula gives a thousand: there the group's standard
    deviation takes its place, with which a rollout that is unlike all others gets the square root of `generations`.

    Args:
        rewards: Total rewards, finite; shape (B,).
        generations: Rollouts of a group, an odd number from 3 on; divides B.

    Returns:
        Advantages of shape (B,), in [-5, 5].

    Raises:
        ValueError: `generations` has no middle, or the rewards are not whole groups.
    """
    if generations < 3 or generations % 2 == 0:
        raise ValueError(f"the median of {generations} rollouts is none of them; use an odd number from 3 on")
    groups = _groups(rewards, generations)
    differences = groups - groups.median(dim=1, keepdim=True).values
    deviation = differences.abs().median(dim=1, keepdim=True).values
    spread = torch.where(deviation < EQUAL, groups.std(dim=1, keepdim=True), deviation)
    return (differences / (spread + SMALL_DEVIATION)).clamp(-LARGEST, LARGEST).flatten()


def entropy_scale(entropies: Tensor, mask: Tensor) -> Tensor:
    """Return what EDGE-GRPO (2507.21848) multiplies advantages with: the batch's mean entropy over the rollout's own.

    A confident rollout counts more than a hesitant one, whether it is right or wrong.

    Args:
        entropies: Entropy of each token's distribution, in nats; shape (B, T). Padding may hold anything.
        mask: True or 1 for the tokens of the completion; shape (B, T).

    Returns:
        Factors of shape (B,) without a gradient, in [0.5, 2]; 1 for a rollout without tokens, which has no part in the
        batch's mean either.
    """
    completion = mask.bool()
    tokens = completion.sum(dim=1)
    own = torch.where(completion, entropies.detach(), 0.0).sum(dim=1) / tokens.clamp(min=1)
    wrote = tokens > 0
    mean = own.sum() / wrote.sum().clamp(min=1)
    scale = ((mean + SMALL_ENTROPY) / (own + SMALL_ENTROPY)).clamp(*ENTROPY_SCALES)
    return torch.where(wrote, scale, 1.0)


def blockwise_advantages(
    blocks: Sequence[Sequence[Block]], block_of_token: Tensor, advantages: Tensor, generations: int
) -> Tensor:
    """Give each token the advantage of its block: Blockwise Advantage Estimation (2602.10231).

    A block's advantage is its reward minus the mean of that block's reward over the rollouts of the group whose text
    before it had the same outcome: all blocks right so far, or not. The paper's own case is that of two outcomes, and
    more would leave groups of 8 to 16 with nobody to compare with. Where no other rollout shares the outcome, the mean
    is the whole group's. A rollout that does not have the block earned 0 for it, after all the blocks that it has: to
    write the field at all is worth something.

    Advantages of blocks are differences of rewards, in (-1, 1), and are not divided by a deviation.

    Args:
        blocks: The blocks of each rollout in the order of its text, B of them.
        block_of_token: For each token the index of its block in its rollout's blocks, -1 for none; shape (B, T).
        advantages: Each rollout's advantage for its completion as a whole, which tokens outside blocks get; shape (B,).
        generations: Rollouts of a group; divides B.

    Returns:
        Advantages of shape (B, T).

    Raises:
        ValueError: The rollouts are not whole groups, or there are not as many of one as of the others.
    """
    _groups(advantages, generations)
    if not len(blocks) == len(block_of_token) == len(advantages):
        raise ValueError(f"blocks of {len(blocks)} and tokens of {len(block_of_token)} for {len(advantages)} rollouts")
    # The column before the first block's is for tokens outside blocks, whose index is -1.
    by_block = advantages.new_zeros(len(blocks), 1 + max(map(len, blocks), default=0))
    by_block[:, 0] = advantages
    for start in range(0, len(blocks), generations):
        for row, found in enumerate(_of_group(blocks[start : start + generations]), start):
            by_block[row, 1 : 1 + len(found)] = advantages.new_tensor(found)
    return by_block.gather(1, block_of_token + 1)


def _of_group(group: Sequence[Sequence[Block]]) -> list[list[float]]:
    """Return the advantages of each rollout's blocks."""
    advantages: list[list[float]] = [[] for _ in group]
    earned = [{block.name: block.reward for block in rollout} for rollout in group]
    right_before = [_right_before(rollout) for rollout in group]
    for row, rollout in enumerate(group):
        for block in rollout:
            # A rollout's last entry is the outcome of all that it wrote, which a block that it lacks would follow.
            outcomes = [before.get(block.name, before[None]) for before in right_before]
            rewards = [blocks.get(block.name, 0.0) for blocks in earned]
            alike = [reward for reward, outcome in zip(rewards, outcomes, strict=True) if outcome == outcomes[row]]
            compared = alike if len(alike) > 1 else rewards
            advantages[row].append(block.reward - math.fsum(compared) / len(compared))
    return advantages


def _right_before(rollout: Sequence[Block]) -> dict[str | None, bool]:
    """Tell by block whether all before it were right, and under None whether all were."""
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
