"""Activations against what real small models keep for the backward pass."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from peft import LoraConfig, get_peft_model

from schemas.config.train import TrainConfig
from tasks.train.grpo.packed import ANY_MASK, PackedRow, parts_of, takes_packed_rows
from tasks.train.sizing.activations import PackedSize, activation_bytes, kept_bytes, packed_bytes
from tasks.train.sizing.decoder_shape import KNOWN_SHAPES, DecoderShape
from tests.tasks.train.real_model import real_model
from tests.tasks.train.sizing.measurement import kept_by, kept_for_backward

KINDS = pytest.mark.parametrize(("kind", "head_size"), [("llama", 8), ("qwen2", 8), ("qwen3", 16)])


def adapted(kind: str, layers: int) -> Any:
    return get_peft_model(real_model(kind, layers), LoraConfig(r=2, target_modules="all-linear")).train()


def shape_of(kind: Any, head_size: int) -> DecoderShape:
    return DecoderShape(kind, 1, 32, 4, 2, head_size, 48, 64, tied=True)


@KINDS
def test_activations_are_what_a_real_layer_keeps(kind: Any, head_size: int) -> None:
    """The difference of two models that differ by one layer; each number is one of float32 on a CPU."""
    one, two = (kept_for_backward(adapted(kind, layers), 3, 20, autocast=False) for layers in (1, 2))
    assert (two - one) / (3 * 20) == pytest.approx(activation_bytes(shape_of(kind, head_size), 2, 20, 4), rel=0.02)


@KINDS
@pytest.mark.parametrize(
    ("prompts", "completions", "prompt_tokens", "completion_tokens"),
    [(1, 8, 60, 20), (2, 4, 40, 10), (1, 8, 1, 40), (3, 1, 5, 40), (1, 1, 60, 20)],
)
def test_a_packed_row_keeps_hardly_less_than_is_counted_and_never_more(
    kind: Any, head_size: int, prompts: int, completions: int, prompt_tokens: int, completion_tokens: int
) -> None:
    ids = torch.randint(3, 64, (prompts * completions, prompt_tokens + completion_tokens))
    ids[:, :prompt_tokens] = ids[::completions, :prompt_tokens].repeat_interleave(completions, dim=0)
    row = PackedRow(parts_of(ids, torch.ones_like(ids), completion_tokens), completions, ids.device)
    asked = {
        "input_ids": row.ids.unsqueeze(0),
        "attention_mask": torch.ones(ANY_MASK, dtype=torch.bool),
        "position_ids": row.positions.unsqueeze(0),
        "packed_row": row,
    }
    measured = []
    for layers in (1, 2):
        model = adapted(kind, layers)
        assert takes_packed_rows(model)
        measured.append(kept_by(asked, model, autocast=False))
    size = PackedSize(prompts, prompts * completions, prompt_tokens - 1, completion_tokens)
    counted = packed_bytes(shape_of(kind, head_size), 2, size, 4, "none")
    assert size.tokens == row.ids.numel()
    assert 0.93 * counted < measured[1] - measured[0] <= counted


@given(st.integers(1, 6), st.integers(2, 8), st.data())
def test_the_row_of_a_pass_has_the_prompts_of_its_completions(prompts: int, generations: int, data: Any) -> None:
    completions = prompts * generations
    parts = data.draw(st.sampled_from([n for n in range(1, completions + 1) if completions % n == 0]))
    config = TrainConfig(prompts_per_step=prompts, generations=generations, accumulation=parts)
    size = PackedSize.of_pass(config, 20)
    at_once = completions // parts
    passes = [range(first, first + at_once) for first in range(0, completions, at_once)]
    most = max(len({place // generations for place in each}) for each in passes)
    assert (size.completions, size.prompt_tokens) == (at_once, 19)
    assert most == size.prompts


def test_checkpointing_keeps_inputs_of_all_layers_and_one_whole_layer() -> None:
    shape = KNOWN_SHAPES["Polygl0t/Tucano2-qwen-0.5B-Instruct"]
    layer = activation_bytes(shape, 16, 100, 2)
    assert kept_bytes(shape, 16, 3, 100, 2, "none") == 300 * 28 * layer
    assert kept_bytes(shape, 16, 3, 100, 2, "torch") == 300 * (28 * 1024 * 2 + layer)
    assert kept_bytes(shape, 16, 3, 100, 2, "unsloth") == 300 * (2 * 1024 * 2 + layer)
