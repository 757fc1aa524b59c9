"""The entropy scale by hand, and what must hold of any."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.train.methods.entropy import ENTROPY_SCALES, entropy_scale


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


def test_a_certain_rollout_is_bounded_and_certain_rollouts_alone_are_not_scaled() -> None:
    one = entropy_scale(torch.tensor([[0.0], [1.0], [40.0]]), torch.ones(3, 1))
    assert one.tolist() == pytest.approx([ENTROPY_SCALES[1], ENTROPY_SCALES[1], ENTROPY_SCALES[0]])
    assert entropy_scale(torch.zeros(3, 4), torch.ones(3, 4)).tolist() == [1.0, 1.0, 1.0]


def test_the_entropy_scale_has_no_gradient() -> None:
    """With one, the policy could raise its advantages by being sure of itself."""
    entropies = torch.ones(2, 2, requires_grad=True)
    assert not entropy_scale(entropies, torch.ones(2, 2)).requires_grad


@settings(deadline=None)
@given(st.lists(st.lists(st.floats(0, 10), min_size=3, max_size=3), min_size=1, max_size=6))
def test_the_entropy_scale_stays_within_its_bounds_and_falls_with_the_entropy(entropies: list[list[float]]) -> None:
    given_entropies = torch.tensor(entropies)
    scale = entropy_scale(given_entropies, torch.ones_like(given_entropies))
    assert ((scale >= ENTROPY_SCALES[0]) & (scale <= ENTROPY_SCALES[1])).all()
    assert (scale[given_entropies.mean(dim=1).argsort()].diff() <= 1e-5).all()
