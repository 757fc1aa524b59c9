"""What the trainer adds to TRL's: an order for each epoch, and log-probabilities on a CPU."""

from hypothesis import given
from hypothesis import strategies as st

from tasks.train.trainer import EpochSampler


def _order(sampler: EpochSampler, epoch: int) -> list[int]:
    sampler.set_epoch(epoch)
    return list(sampler)


def _sampler(rows: int, seed: int) -> EpochSampler:
    return EpochSampler(range(rows), mini_repeat_count=2, batch_size=4, repeat_count=1, shuffle=True, seed=seed)


@given(rows=st.integers(4, 40), seed=st.integers(0, 1000), epoch=st.integers(0, 5))
def test_an_epoch_has_its_own_order_whatever_ran_before_it(rows: int, seed: int, epoch: int) -> None:
    """TRL's sampler replays epoch 0's order when a run is resumed in a later epoch."""
    uninterrupted, resumed = _sampler(rows, seed), _sampler(rows, seed)
    orders = [_order(uninterrupted, earlier) for earlier in range(epoch + 1)]
    assert _order(resumed, epoch) == orders[epoch]


def test_epochs_differ() -> None:
    sampler = _sampler(40, 0)
    assert _order(sampler, 0) != _order(sampler, 1)


def test_every_prompt_is_repeated_side_by_side() -> None:
    order = _order(_sampler(12, 3), 0)
    assert order[::2] == order[1::2]
    assert sorted(order[::2]) == list(range(12))
