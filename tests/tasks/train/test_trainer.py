"""What the trainer adds to TRL's: an order for each epoch, and log-probabilities on a CPU."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.train.trainer import EpochSampler, PolicyTrainer, WarmStartTrainer


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


def _tiny() -> tuple[Any, Any]:
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    shape = Qwen2Config(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    return Qwen2ForCausalLM(shape).eval(), torch.randint(0, 32, (3, 9))


def test_log_probabilities_on_a_cpu_are_those_of_the_tempered_softmax() -> None:
    """An off-by-one or a forgotten temperature would still train, and learn something else."""
    import torch

    model, ids = _tiny()
    trainer: Any = SimpleNamespace(temperature=0.7)
    found, entropies, _ = PolicyTrainer._get_per_token_logps_and_entropies(
        trainer, model, ids, torch.ones_like(ids), 4, batch_size=2, compute_entropy=True
    )
    assert entropies is not None
    logits = model(input_ids=ids).logits / 0.7
    for row in range(3):
        for place in range(4):
            position = 5 + place
            by_token = torch.softmax(logits[row, position - 1], dim=-1)
            assert found[row, place].item() == pytest.approx(by_token[ids[row, position]].log().item(), abs=1e-5)
            assert entropies[row, place].item() == pytest.approx(-(by_token * by_token.log()).sum().item(), abs=1e-5)


def test_the_warm_start_learns_the_completion_tokens_only() -> None:
    import torch

    model, ids = _tiny()
    labels = ids.clone()
    labels[:, :6] = -100
    trainer: Any = None
    loss = WarmStartTrainer.compute_loss(
        trainer, model, {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}
    )
    by_token = torch.log_softmax(model(input_ids=ids).logits, dim=-1)
    wanted = [by_token[row, place - 1, ids[row, place]].item() for row in range(3) for place in range(6, 9)]
    assert loss.item() == pytest.approx(-sum(wanted) / len(wanted), abs=1e-5)
