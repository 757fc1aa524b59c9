"""Advantages over the median by hand, and what must hold of any."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.train.methods.median import LARGEST, median_advantages

rewards_of_groups = st.integers(1, 4).flatmap(
    lambda groups: st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), min_size=5 * groups, max_size=5 * groups)
)


def test_rewards_that_are_no_whole_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="7 rollouts are no whole groups of 3"):
        median_advantages(torch.zeros(7), 3)


def test_the_median_advantage_is_the_paper_s_by_hand() -> None:
    """Rewards 0, .2, .3, .7, 1: median .3, deviations .3, .1, 0, .4, .7 with median .3 (MC-GRPO)."""
    advantages = median_advantages(torch.tensor([0.0, 1.0, 0.3, 0.7, 0.2]), 5)
    expected = [-0.3 / 0.301, 0.7 / 0.301, 0.0, 0.4 / 0.301, -0.1 / 0.301]
    assert advantages.tolist() == pytest.approx(expected, abs=1e-5)


def test_one_good_rollout_among_equals_gets_the_deviation_s_advantage_and_no_thousand() -> None:
    """MAD is 0: by the paper's formula alone the advantage would be 1 / 0.001."""
    rewards = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0])
    advantages = median_advantages(rewards, 5)
    assert advantages[2].item() == pytest.approx(1 / (math.sqrt(0.2) + 1e-3), abs=1e-5)
    assert advantages[[0, 1, 3, 4]].tolist() == [0.0] * 4


def test_a_deviation_that_is_merely_small_is_bounded_as_well() -> None:
    rewards = torch.tensor([0.5, 0.5001, 0.4999, 0.5002, 1.0])
    assert median_advantages(rewards, 5).max().item() == LARGEST


@pytest.mark.parametrize("generations", [1, 2, 8])
def test_a_group_without_a_middle_is_refused(generations: int) -> None:
    with pytest.raises(ValueError, match="use an odd number from 3 on"):
        median_advantages(torch.zeros(8), generations)


@settings(deadline=None)
@given(rewards_of_groups)
def test_each_group_has_a_rollout_of_advantage_zero_and_the_others_keep_their_order(rewards: list[float]) -> None:
    found = median_advantages(torch.tensor(rewards), 5).view(-1, 5)
    assert (found == 0).any(dim=1).all()
    assert found.abs().max() <= LARGEST
    for earned, advantages in zip(torch.tensor(rewards).view(-1, 5), found, strict=True):
        assert (advantages[earned.argsort()].diff() >= 0).all()
        assert ((advantages > 0) == (earned > earned.median())).all()


@settings(deadline=None)
@given(rewards_of_groups, st.randoms(use_true_random=False))
def test_a_group_s_advantages_do_not_depend_on_the_other_groups_nor_on_their_order(
    rewards: list[float], random: object
) -> None:
    groups = torch.tensor(rewards).view(-1, 5)
    order = list(range(len(groups)))
    random.shuffle(order)  # type: ignore[attr-defined]
    found = median_advantages(groups[order].flatten(), 5).view(-1, 5)
    assert torch.equal(found, median_advantages(groups.flatten(), 5).view(-1, 5)[order])
