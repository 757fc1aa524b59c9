"""Keys and values of rows: kept turns are bounded, and what is reserved is used again."""

import resource
from types import SimpleNamespace

import torch

from tasks.policy.row_cache import RowCache, TurnCache

CONFIG = SimpleNamespace(num_key_value_heads=2, head_dim=8, num_hidden_layers=2)


def test_of_turns_the_one_not_asked_for_the_longest_goes() -> None:
    turns = TurnCache(most=10)
    first, second, third = ((number,) * 4 for number in range(3))
    for turn in (first, second):
        turns.keep(turn, [])
    assert turns.get(first) == []
    turns.keep(third, [])
    assert [turns.get(turn) for turn in (first, second, third)] == [[], None, []]
    turns.keep((7,) * 11, [])
    assert [turns.get(turn) for turn in (first, third, (7,) * 11)] == [None] * 3


def test_the_last_row_takes_the_place_of_one_that_leaves_with_all_that_is_its_own() -> None:
    cache = RowCache(CONFIG, rows=3, longest=6)
    for number in range(1, 4):
        cache.begin(None)
        new = torch.full((1, 2, number, 8), float(number))
        for layer in range(2):
            cache.update(new, -new, layer)
        cache.length += number
        cache.join()
    cache.leave(0)
    assert cache.lengths == [3, 2]
    assert cache.begin_step().tolist() == [3, 2]
    asked = torch.zeros(2, 4, 8)
    # Without a preference the mean is of all that a row keeps, and of its new token.
    means = cache.attend(1, asked, torch.zeros(2, 2, 8), torch.zeros(2, 2, 8), 1.0)
    assert torch.allclose(means[0], torch.tensor(-3 * 3 / 4))
    assert torch.allclose(means[1], torch.tensor(-2 * 2 / 3))
    assert cache.lengths == [4, 3]


def test_what_is_reserved_takes_memory_when_it_is_written() -> None:
    """4 GB are reserved; a resident allocation of them would end the tests' machine."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cache = RowCache(CONFIG, rows=64, longest=250_000)
    cache.begin(None)
    cache.update(torch.ones(1, 2, 5, 8), torch.ones(1, 2, 5, 8), 0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
