"""Advantages of blocks by hand, and what must hold of any."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.train.methods.blockwise import Block, blockwise_advantages


def _block(name: str, reward: float) -> Block:
    return Block(name, 0, 1, reward)


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
