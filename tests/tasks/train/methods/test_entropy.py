"""The entropy scale by hand, and what must hold of any."""

import math

import pytest
import torch

from tasks.train.methods.entropy import entropy_scale


def test_the_entropy_scale_is_the_mean_of_the_batch_over_the_rollout_s() -> None:
    """Entropies 1, 2 and 3 by rollout, mean 2 (EDGE-GRPO); the padding's 90 is nobody's."""
    entropies = torch.tensor([[1.0, 1.0, 90.0], [2.0, 2.0, 2.0], [2.0, 4.0, 90.0]])
    mask = torch.tensor([[1, 1, 0], [1, 1, 1], [1, 1, 0]])
    assert entropy_scale(entropies, mask).tolist() == pytest.approx([2.0, 1.0, 2 / 3], abs=1e-5)


def test_a_rollout_without_tokens_has_the_scale_one_and_no_part_in_the_mean() -> None:
    """Masked for being cut off; with its zero in the mean, the others would shrink."""
    entropies = torch.tensor([[1.0, 1.0], [3.0, 3.0], [math.nan, math.inf]])
    mask = torch.tensor([[1, 1], [1, 1], [0, 0]])
    assert entropy_scale(entropies, mask).tolist() == pytest.approx([2.0, 2 / 3, 1.0], abs=1e-5)
