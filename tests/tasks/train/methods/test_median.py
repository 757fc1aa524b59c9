"""Advantages by hand: the median's, the entropy's and the blocks', and what must hold of any."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.train.methods.median import (
    ENTROPY_SCALES,
    LARGEST,
    blockwise_advantages,
    entropy_scale,
    median_advantages,
    zero_variance,
)
from tasks.train.methods.blockwise import Block

rewards_of_groups = st.integers(1, 4).flatmap(
    lambda groups: st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), min_size=5 * groups, max_size=5 * groups)
)


def _block(name: str, reward: float) -> Block:
    return Block(name, 0, 1, reward)


def test_zero_variance_is_told_by_group_and_not_by_batch() -> None:
    """The batch varies although two of its groups do not, which is what TRL's own fraction misses."""
    rewards = torch.tensor([0.5, 0.5, 0.5, 0.0, 1.0, 0.0, 0.2, 0.2, 0.2])
    assert zero_variance(rewards, 3).tolist() == [True, False, True]


def test_sums_that_differ_by_rounding_are_equal_rewards() -> None:
    rewards = torch.tensor([0.1 + 0.2, 0.3, 0.3 + 3e-8, 0.7, 0.7001, 0.7])
    assert zero_variance(rewards, 3).tolist() == [True, False]


def test_rewards_that_are_no_whole_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="7 rollouts are no whole groups of 3"):
        zero_variance(torch.zeros(7), 3)


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
    assert torch.equal(zero_variance(groups[order].flatten(), 5), zero_variance(groups.flatten(), 5)[order])


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


def test_a_block_is_compared_with_the_blocks_after_the_same_outcome() -> None:
    """The paper's case, a solution and a confidence: solutions 1, 1, 0, 0; confidences .9, .5, .2, .8.

    Of the right ones the mean confidence reward is .7, of the wrong ones .5; a single mean, .6, would punish the third
    for a confidence that suits a wrong solution.
    """
    rewards = [(1.0, 0.9), (1.0, 0.5), (0.0, 0.2), (0.0, 0.8)]
    blocks = [(_block("solution", first), _block("confidence", second)) for first, second in rewards]
    found = blockwise_advantages(blocks, torch.tensor([[0, 1, -1]] * 4), torch.tensor([1.0, 2.0, 3.0, 4.0]), 4)
    expected = [[0.5, 0.2, 1.0], [0.5, -0.2, 2.0], [-0.5, -0.3, 3.0], [-0.5, 0.3, 4.0]]
    assert torch.allclose(found, torch.tensor(expected))


def test_a_rollout_alone_with_its_outcome_is_compared_with_the_whole_group() -> None:
    """Compared with itself it would learn nothing."""
    rewards = [(1.0, 0.9), (0.0, 0.1), (0.0, 0.3), (0.0, 0.3)]
    blocks = [(_block("solution", first), _block("confidence", second)) for first, second in rewards]
    found = blockwise_advantages(blocks, torch.tensor([[1]] * 4), torch.zeros(4), 4)
    mean_of_wrong = 0.7 / 3
    assert found[0].item() == pytest.approx(0.9 - 0.4)
    assert found[1:, 0].tolist() == pytest.approx([0.1 - mean_of_wrong, 0.3 - mean_of_wrong, 0.3 - mean_of_wrong])


def test_the_only_rollout_that_has_a_block_is_better_than_those_that_lack_it() -> None:
    """One valid object among four: were the others left out of the mean, its fields would earn nothing."""
    blocks = [(_block("sentiment", 1.0),), (), (), ()]
    found = blockwise_advantages(
        blocks, torch.tensor([[0], [-1], [-1], [-1]]), torch.tensor([1.5, -0.5, -0.5, -0.5]), 4
    )
    assert found.flatten().tolist() == pytest.approx([0.75, -0.5, -0.5, -0.5])


def test_an_error_anywhere_before_a_block_is_its_outcome() -> None:
    """Third blocks after (0, 1), (0, 1), (1, 1), (1, 1): by the block just before them they would all be alike."""
    rewards = [(0.0, 1.0, 1.0), (0.0, 1.0, 0.0), (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)]
    blocks = [[_block(str(place), reward) for place, reward in enumerate(row)] for row in rewards]
    found = blockwise_advantages(blocks, torch.tensor([[2]] * 4), torch.zeros(4), 4)
    assert found.flatten().tolist() == [0.5, -0.5, 0.0, 0.0]


def test_a_rollout_that_ends_without_a_block_is_compared_by_what_it_wrote() -> None:
    """A poor thought without an answer stands beside the answer that followed a poor thought: the mean of 0 and .8."""
    blocks = [
        (_block("thought", 0.0),),
        (_block("thought", 0.0), _block("answer", 0.8)),
        (_block("thought", 1.0), _block("answer", 1.0)),
        (_block("thought", 1.0), _block("answer", 0.6)),
    ]
    found = blockwise_advantages(blocks, torch.tensor([[-1], [1], [1], [1]]), torch.zeros(4), 4)
    assert found.flatten().tolist() == pytest.approx([0.0, 0.4, 0.2, -0.2])


def test_blocks_are_compared_by_name_and_within_their_group() -> None:
    blocks = [
        (_block("a", 1.0), _block("b", 1.0)),
        (_block("b", 1.0), _block("a", 1.0)),
        (_block("a", 0.0), _block("b", 0.5)),
        (_block("a", 0.0), _block("b", 0.5)),
    ]
    found = blockwise_advantages(blocks, torch.tensor([[0, 1]] * 4), torch.zeros(4), 2)
    assert torch.equal(found, torch.zeros(4, 2))


block_rewards = st.lists(st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 3), min_size=8, max_size=8)


@settings(deadline=None)
@given(block_rewards)
def test_block_advantages_are_bounded_and_those_of_the_first_block_sum_to_zero_in_every_group(
    rewards: list[tuple[float, ...]],
) -> None:
    blocks = [[_block(str(place), reward) for place, reward in enumerate(row)] for row in rewards]
    found = blockwise_advantages(blocks, torch.tensor([[0, 1, 2]] * 8), torch.zeros(8), 4)
    assert found.abs().max() < 1
    assert found[:, 0].view(2, 4).sum(dim=1).abs().max() < 1e-6


@settings(deadline=None)
@given(block_rewards)
def test_advantages_of_a_later_block_sum_to_zero_where_two_share_the_outcome(rewards: list[tuple[float, ...]]) -> None:
    blocks = [[_block(str(place), reward) for place, reward in enumerate(row)] for row in rewards]
    found = blockwise_advantages(blocks, torch.tensor([[1]] * 8), torch.zeros(8), 8).flatten()
    right = torch.tensor([row[0] == 1.0 for row in rewards])
    for outcome in (right, ~right):
        if outcome.sum() > 1:
            assert found[outcome].sum().abs() < 1e-6


def test_without_blocks_every_token_has_the_rollout_s_advantage() -> None:
    advantages = torch.tensor([0.5, -0.5])
    found = blockwise_advantages([(), ()], torch.full((2, 3), -1), advantages, 2)
    assert torch.equal(found, advantages.unsqueeze(1).expand(2, 3))


def test_blocks_and_tokens_of_different_rollouts_are_refused() -> None:
    with pytest.raises(ValueError, match="blocks of 1 and tokens of 2 for 2 rollouts"):
        blockwise_advantages([()], torch.full((2, 3), -1), torch.zeros(2), 2)
