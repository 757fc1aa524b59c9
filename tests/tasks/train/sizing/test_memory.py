"""Memory against hand-computed cases."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.config.policy import WarmStartConfig
from schemas.config.train import TrainConfig
from tasks.train.sizing.decoder_shape import KNOWN_SHAPES, DecoderShape
from tasks.train.sizing.memory import (
    CONTEXT_BYTES,
    FRAGMENTATION,
    answering_bytes,
    memory_of,
    merge_bytes,
    warm_start_bytes,
)

SMALL = DecoderShape("llama", 2, 8, 2, 1, 4, 16, 32, tied=True)
"""A layer's linear maps: 8x8, 8x4, 8x4, 8x8; 8x16, 8x16, 16x8: 576 weights."""


def test_nf4_takes_what_bitsandbytes_takes() -> None:
    import torch
    from bitsandbytes.functional import quantize_4bit

    packed, state = quantize_4bit(torch.ones(64, 128), quant_type="nf4", compress_statistics=False)
    shape = DecoderShape("llama", 1, 64, 1, 1, 64, 128, 1, tied=True)
    recipe = TrainConfig(load_in_4bit=True)
    weights = memory_of(shape, recipe, 0, validated_at_once=3, on_gpu=True).weights - shape.other_parameters * 2
    measured = (packed.nbytes + state.absmax.nbytes) / (64 * 128)
    assert weights == shape.linear_parameters * measured


def test_the_memory_of_a_small_step_is_as_by_hand() -> None:
    """2 layers, 2 prompts x 4 completions of 16 tokens in 4 parts, after prompts of 4 tokens."""
    recipe = TrainConfig(
        prompts_per_step=2, generations=4, accumulation=4, max_completion_tokens=16, lora={"rank": 2, "alpha": 2}
    )  # fmt: skip
    memory = memory_of(SMALL, recipe, 4, validated_at_once=3, on_gpu=True)
    assert SMALL.linear_parameters == 2 * 576
    assert SMALL.other_parameters == 32 * 8 + 2 * 2 * 8 + 8
    assert memory.weights == 1152 * 0.5625 + 296 * 2
    # r x (in + out) of the seven maps: 2 x (16 + 12 + 12 + 16 + 24 + 24 + 24), with gradient, two moments and a copy.
    assert memory.adapter == 2 * 256 * 18
    # A row of 3 tokens of a prompt and 2 x 16 of its completions. By layer and token: bfloat16 6x8 + 16 + 7x2, 3x16;
    # float32 2x9 for the norms, 2 for attention. For attention bfloat16: queries 8, keys and values 2x4 of the row;
    # outputs 8 of the prompt; 3x8 of each token of a completion; keys and values of 2 x 19 tokens; a mask for 2 heads.
    in_attention = 35 * 16 + 3 * 8 + 32 * 24 + 2 * 19 * 8 + 2 * 16 * 19
    assert memory.activations == 2 * (35 * (2 * (78 + 48) + 4 * 20) + 2 * in_attention)
    # TRL's two sequences of 20 tokens: of attention 4x8, and a row of 20 of the mask.
    stock = memory_of(SMALL, recipe.model_copy(update={"stock_update": True}), 4, validated_at_once=3, on_gpu=True)
    assert stock.activations == 2 * 20 * 2 * (2 * (78 + 32 + 20 + 48) + 4 * 20)
    assert memory.logits == 4 * 32 * 32
    # Keys and values, 4 wide, of 8 completions of 20 tokens in 2 layers.
    assert memory.cache == 2 * 4 * 2 * 8 * 20 * 2
    assert memory.validation_cache == 3 * 20 * 2 * 4 * 2 * 2
    # Both of its two layers.
    assert memory.preflight_base == 4 * SMALL.parameters
    parts = memory.weights + memory.adapter + memory.activations + memory.logits
    assert memory.moment == "update"
    assert memory.peak == pytest.approx(CONTEXT_BYTES + parts * (1 + FRAGMENTATION))
    assert memory.card == memory.peak


@pytest.mark.parametrize("on_gpu", [True, False])
def test_guided_rollouts_hold_whole_logits_on_a_card_too(on_gpu: bool) -> None:
    """Two sequences of 16 tokens over 32 entries: the fused head holds one tile of them, masks need them all."""
    recipe = {"prompts_per_step": 2, "generations": 4, "accumulation": 4, "max_completion_tokens": 16}
    without, guided = (
        memory_of(SMALL, TrainConfig(guided=tasks, **recipe), 4, validated_at_once=3, on_gpu=on_gpu).logits
        for tasks in ("none", "forms")
    )
    assert without == 4 * (1 if on_gpu else 4) * 32 * 32
    assert guided == 4 * 6 * 32 * 32


def test_vllm_takes_its_share_of_the_card_and_the_cache_with_it() -> None:
    recipe = TrainConfig(load_in_4bit=False, vllm={"enabled": True, "memory_share": 0.25})
    memory = memory_of(SMALL, recipe, 4, validated_at_once=3, on_gpu=True)
    assert memory.cache == 0
    assert memory.card == pytest.approx(memory.peak / 0.75)


def test_vllm_that_sleeps_and_a_step_never_add_up() -> None:
    vllm = {"enabled": True, "memory_share": 0.5}
    recipe: dict[str, Any] = {"load_in_4bit": False, "generations": 64, "max_completion_tokens": 4096}
    awake = memory_of(SMALL, TrainConfig(**recipe, vllm=vllm), 4, validated_at_once=3, on_gpu=True)
    asleep = memory_of(SMALL, TrainConfig(**recipe, vllm=vllm | {"sleep": True}), 4, validated_at_once=3, on_gpu=True)
    assert awake.card == pytest.approx(2 * awake.peak)
    assert asleep.card == pytest.approx(max(asleep.peak, 2 * asleep.moments["sampling"]))
    elsewhere = vllm | {"server_url": "http://127.0.0.1:8000"}
    served = memory_of(SMALL, TrainConfig(**recipe, vllm=elsewhere), 4, validated_at_once=3, on_gpu=True)
    assert (served.cache, served.card) == (0, served.peak)


def test_the_preflight_reads_as_many_layers_as_are_counted() -> None:
    large = KNOWN_SHAPES["Polygl0t/Tucano2-qwen-3.7B-Base"]
    memory = memory_of(large, TrainConfig(), 4, validated_at_once=1, on_gpu=True)
    assert memory.preflight_base == 4 * (large.linear_parameters // 18 + large.other_parameters)


def test_an_optimizer_of_8_bits_and_whole_weights_change_what_they_should() -> None:
    plain = memory_of(SMALL, TrainConfig(load_in_4bit=False), 4, validated_at_once=3, on_gpu=True)
    assert plain.weights == SMALL.parameters * 2
    eight_bit = memory_of(SMALL, TrainConfig(optimizer={"name": "adamw_8bit"}), 4, validated_at_once=3, on_gpu=True)
    assert plain.adapter - eight_bit.adapter == SMALL.adapter_parameters(16) * 6


@given(st.sampled_from([1, 2, 4, 8, 16]), st.integers(0, 512), st.booleans())
def test_accumulation_divides_the_activations_and_nothing_else(parts: int, prompt_tokens: int, on_gpu: bool) -> None:
    for stock in (True, False):
        recipe = TrainConfig(prompts_per_step=2, stock_update=stock)
        whole, divided = (
            memory_of(SMALL, each, prompt_tokens, validated_at_once=3, on_gpu=on_gpu)
            for each in (recipe, recipe.model_copy(update={"accumulation": parts}))
        )
        # A packed prompt is in each part of its group.
        assert divided.activations <= whole.activations <= divided.activations * parts
        assert whole.activations == divided.activations * parts or not stock
        assert (divided.weights, divided.adapter, divided.cache) == (whole.weights, whole.adapter, whole.cache)


def test_a_pass_of_dpo_has_whole_pairs_and_no_vllm() -> None:
    """1 prompt x 9 completions make 4 pairs, and 9 parts of them 1 pair each."""
    for parts, sequences in ((1, 8), (9, 2)):
        recipe = {"prompts_per_step": 1, "generations": 9, "accumulation": parts, "stock_update": True}
        vllm = {"enabled": True, "memory_share": 0.5}
        grpo = memory_of(SMALL, TrainConfig(**recipe), 4, validated_at_once=3, on_gpu=True)
        dpo = memory_of(
            SMALL,
            TrainConfig(**recipe, algorithm="dpo", vllm=vllm, load_in_4bit=False),
            4,
            validated_at_once=3,
            on_gpu=True,
        )
        assert dpo.activations / sequences == grpo.activations / (9 // parts)
        assert (dpo.cache, dpo.card) == (grpo.cache, dpo.peak)


def test_the_peak_is_the_moment_with_most() -> None:
    recipe = TrainConfig(prompts_per_step=1, generations=2, accumulation=2, gradient_checkpointing="torch")
    few = memory_of(SMALL, recipe, 4, validated_at_once=1, on_gpu=True)
    many = memory_of(SMALL, recipe, 4, validated_at_once=10_000, on_gpu=True)
    assert (few.moment, many.moment) == ("update", "validation")
    assert many.peak - few.moments["validation"] == pytest.approx(9_999 / 10_000 * many.validation_cache * 1.05)


def test_answers_take_weights_and_their_cache() -> None:
    assert answering_bytes(SMALL, 20, 8) == pytest.approx(
        CONTEXT_BYTES + (2 * SMALL.parameters + 8 * 20 * 2 * 4 * 2 * 2) * (1 + FRAGMENTATION)
    )


def test_merging_has_all_weights_in_float32_and_the_prompts_it_checks() -> None:
    """20 prompts of 16 tokens with 24 of their answers; keys and values, 4 wide, in 2 layers."""
    assert merge_bytes(SMALL, 16) == pytest.approx(
        CONTEXT_BYTES + (4 * SMALL.parameters + 20 * (16 + 24) * 2 * 4 * 2 * 4) * (1 + FRAGMENTATION)
    )


def test_fine_tuning_takes_less_in_parts_and_in_4_bits() -> None:
    whole = WarmStartConfig(batch_size=8)
    parts = WarmStartConfig(batch_size=8, accumulation=4)
    four_bit = WarmStartConfig(batch_size=8, accumulation=4, load_in_4bit=True)
    sizes = [warm_start_bytes(SMALL, config, 20, checkpointing=False) for config in (whole, parts, four_bit)]
    assert sizes == sorted(sizes, reverse=True)
    assert warm_start_bytes(SMALL, whole, 20, checkpointing=True) < sizes[0]
    in_4_bits = SMALL.linear_parameters * 0.5625 + SMALL.other_parameters * 2
    assert sizes[1] - sizes[2] == pytest.approx((2 * SMALL.parameters - in_4_bits) * (1 + FRAGMENTATION))
