"""Entropy-driven advantages of EDGE-GRPO (2507.21848): confident completions count more than hesitant ones."""

from typing import Final

import torch
from torch import Tensor

ENTROPY_SCALES: Final = (0.5, 2.0)
"""Bounds of EDGE's scale. Unbounded, a rollout with almost no entropy would dominate the step; within these bounds no
rollout counts more than four times another for its entropy alone."""
SMALL_ENTROPY: Final = 1e-6
"""Nats; keeps the scale at 1 when no rollout of the batch has any entropy."""


def entropy_scale(entropies: Tensor, mask: Tensor) -> Tensor:
    """Return EDGE-GRPO's (2507.21848) advantage factor: the batch's mean entropy over the rollout's own.

    A confident rollout counts more than a hesitant one, whether right or wrong.

    Args:
        entropies: Entropy of each token's distribution, in nats; shape (B, T). Padding may hold anything.
        mask: True or 1 for completion tokens; shape (B, T).

    Returns:
        Factors of shape (B,) without a gradient, in [0.5, 2]; 1 for a rollout without tokens, which is also left out of
        the batch's mean.
    """
    completion = mask.bool()
    tokens = completion.sum(dim=1)
    own = torch.where(completion, entropies.detach(), 0.0).sum(dim=1) / tokens.clamp(min=1)
    wrote = tokens > 0
    mean = own.sum() / wrote.sum().clamp(min=1)
    scale = ((mean + SMALL_ENTROPY) / (own + SMALL_ENTROPY)).clamp(*ENTROPY_SCALES)
    return torch.where(wrote, scale, 1.0)
