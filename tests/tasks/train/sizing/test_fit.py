"""Recipes that do not fit their card, and the settings that are named to whom that happens."""

from typing import Any

import pytest

from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from tasks.train.sizing.fit import (
    CONTEXT_BYTES,
    FRAGMENTATION,
    adapter_bytes,
    fits,
    kept_bytes,
    memory_limit,
    refuse_unfit,
    stage_memory,
    training_bytes,
    ways_to_fit,
    weight_bytes,
)
from tasks.train.sizing.shape import DecoderShape, read_shape
from tests.tasks.train.real_model import real_model
from tests.tasks.train.sizing.measurement import kept_for_backward


def with_changes(profile: str, overrides: tuple[str, ...], change: dict[str, object]) -> Config:
    said = tuple(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in change.items())
    return load_config(profile, (*overrides, *said))


UNFIT = {
    "one pass": ("train.accumulation=1",),
    "3.7B": ('policy.name="Polygl0t/Tucano2-qwen-3.7B-Instruct"',),
    "SFT in float32": ('policy.name="Polygl0t/Tucano2-qwen-3.7B-Base"', "warm_start.steps=10", "train.accumulation=32"),
}


@pytest.mark.parametrize("overrides", UNFIT.values(), ids=UNFIT.keys())
def test_what_does_not_fit_fits_with_each_way_that_is_named(overrides: tuple[str, ...]) -> None:
    config = load_config("l4", overrides)
    shape = read_shape(config.policy)
    assert shape is not None
    assert not fits(config, shape)
    ways = list(ways_to_fit(config, shape))
    assert 1 <= len(ways) <= 3
    for way in ways:
        quoted = {name: f'"{value}"' if isinstance(value, str) else value for name, value in way.items()}
        assert fits(with_changes("l4", overrides, quoted), shape)
        # No setting is changed in vain.
        for left_out in quoted:
            rest = {name: value for name, value in quoted.items() if name != left_out}
            assert not fits(with_changes("l4", overrides, rest), shape)


def test_the_smallest_change_is_named() -> None:
    """At most 4 of 32 completions a pass: half as many parts would not do."""
    config = load_config("l4", ("train.accumulation=1",))
    shape = read_shape(config.policy)
    assert shape is not None
    parts = next(way["train.accumulation"] for way in ways_to_fit(config, shape) if set(way) == {"train.accumulation"})
    assert fits(load_config("l4", (f"train.accumulation={parts}",)), shape)
    assert not fits(load_config("l4", (f"train.accumulation={parts // 2}",)), shape)


def test_a_recipe_that_does_not_fit_is_refused_with_its_remedies() -> None:
    with pytest.raises(InputError) as refused:
        refuse_unfit(load_config("l4", ("train.accumulation=1",)))
    sentence = str(refused.value)
    assert sentence.startswith("training would take ")
    assert "and of train.device_memory_gb 24 it may take 22.1" in sentence
    assert "set train.accumulation=8, or train.gradient_checkpointing='unsloth'" in sentence


def test_what_no_setting_makes_fit_is_reported_as_such() -> None:
    with pytest.raises(InputError, match="train on a larger GPU, or a smaller model"):
        refuse_unfit(load_config("l4", ("train.device_memory_gb=0.5",)))


def test_nothing_is_compared_without_a_card_or_a_shape() -> None:
    refuse_unfit(load_config("local"))
    refuse_unfit(load_config("l4", ("policy.name=nobody/has-fetched-this", "train.accumulation=1")))


def test_a_batch_of_answers_that_is_too_large_is_split_and_fits() -> None:
    config = load_config("l4", ("evaluate.batch_size=5000", "curate.validation_per_task=120"))
    shape = read_shape(config.policy)
    assert shape is not None
    assert fits(config, shape)
    assert stage_memory(config, shape)["answering"] == pytest.approx(memory_limit(config), rel=0.01)
    assert stage_memory(config, shape)["training"] == pytest.approx(memory_limit(config), rel=0.01)


def test_the_preflights_own_share_is_the_limit() -> None:
    config = load_config("l4", ("train.preflight.max_memory_share=0.5",))
    assert memory_limit(config) == 12e9
    shape = read_shape(config.policy)
    assert shape is not None
    assert not fits(config, shape)
    assert stage_memory(config, shape)["training"] > 12e9


def test_each_stage_that_needs_weights_is_compared() -> None:
    config = load_config("l4", ("warm_start.steps=1",))
    shape = read_shape(config.policy)
    assert shape is not None
    assert set(stage_memory(config, shape)) == {"training", "answering", "merging", "SFT"}
    apart = load_config("l4", ("train.adapter_per_task=true", 'train.task_weights.applies_to="nothing"'))
    assert set(stage_memory(apart, shape)) == {"training", "answering"}


def test_a_merge_that_a_card_has_no_room_for_is_refused() -> None:
    """3.7B weights in float32 take 15 GB, and 20 prompts of 1,024 tokens beside them 6 GB more."""
    config = load_config("l4-3.7b", ("curate.max_prompt_tokens=1024",))
    shape = read_shape(config.policy)
    assert shape is not None
    sizes = stage_memory(config, shape)
    assert max(sizes, key=lambda stage: sizes[stage]) == "merging"
    with pytest.raises(InputError, match=r"^merging would take 22\.8 GB.*; set curate\.max_prompt_tokens="):
        refuse_unfit(config)


SMALL = DecoderShape("llama", 2, 8, 2, 1, 4, 16, 32, tied=True)
"""A layer's linear maps: 8x8, 8x4, 8x4, 8x8; 8x16, 8x16, 16x8: 576 weights."""


def small_config(*overrides: str) -> Config:
    """Return 2 prompts x 4 completions of 16 tokens in 4 parts, after prompts of 64 tokens, on a card of 24 GB."""
    sizes = ("prompts_per_step=2", "generations=4", "accumulation=4", "max_completion_tokens=16", "seeds=[1]")
    own = ("lora.rank=2", 'backend="transformers"', "preflight.max_memory_share=1.0", *sizes)
    return load_config("l4", (*(f"train.{each}" for each in own), "curate.max_prompt_tokens=64", *overrides))


def on_gpu(tensors: float) -> float:
    return CONTEXT_BYTES + tensors * (1 + FRAGMENTATION)


def test_the_memory_of_a_small_step_is_as_by_hand() -> None:
    """Of 2 layers; at each token 8 x 6 + 16 inputs, 7 x 2 inner values, 4 x 8 of attention, 80 of the mask, 3 x 16."""
    config = small_config("train.stock_update=true", "evaluate.batch_size=1", "train.generations=64")
    weights, adapter = 1152 * 0.5625 + 296 * 2, 2 * 256 * 12
    assert weight_bytes(SMALL, 2, four_bit=True) == weights
    # r x (in + out) of the seven maps: 2 x (16 + 12 + 12 + 16 + 24 + 24 + 24), with gradient, two moments and a copy.
    assert adapter_bytes(SMALL.adapter_parameters(2), "adamw_8bit") == adapter
    # 32 sequences of 80 tokens a pass; float32 2 x 9 for the norms and 2 for attention.
    kept = 2 * 32 * 80 * (2 * (64 + 14 + 32 + 80 + 48) + 4 * 20)
    assert kept_bytes(SMALL, 2, 32 * 80, 80, "none") == kept
    logits = 4 * 32 * 16 * 32
    assert training_bytes(config, SMALL) == pytest.approx(on_gpu(weights + adapter + kept + logits))
    # Guided rollouts hold whole logits, six times.
    guided = small_config(
        "train.stock_update=true", "evaluate.batch_size=1", "train.generations=64", "train.guided=forms"
    )
    assert training_bytes(guided, SMALL) == pytest.approx(on_gpu(weights + adapter + kept + 6 * logits))


def test_each_prompt_of_a_packed_row_counts_once() -> None:
    config = load_config("l4", ('train.backend="transformers"',))
    stock = load_config("l4", ('train.backend="transformers"', "train.stock_update=true"))
    shape = read_shape(config.policy)
    assert shape is not None
    assert training_bytes(config, shape) < training_bytes(stock, shape)


def test_vllm_that_sleeps_and_a_step_never_add_up() -> None:
    vllm = (
        "train.load_in_4bit=false",
        "train.vllm.enabled=true",
        "train.vllm.memory_share=0.5",
        "train.generations=64",
    )
    awake, asleep = (training_bytes(small_config(*vllm, f"train.vllm.sleep={on}"), SMALL) for on in ("false", "true"))
    elsewhere = training_bytes(small_config(*vllm, 'train.vllm.server_url="http://127.0.0.1:8000"'), SMALL)
    assert awake == pytest.approx(2 * elsewhere)
    assert elsewhere <= asleep < awake


def test_a_pass_of_dpo_has_whole_pairs_and_no_vllm() -> None:
    """1 prompt x 9 completions make 4 pairs, and 9 parts of them 1 pair each."""
    shared = ("train.prompts_per_step=1", "train.generations=9", "train.load_in_4bit=false", "evaluate.batch_size=1")
    vllm = ("train.vllm.enabled=true", "train.vllm.memory_share=0.5", 'train.algorithm="dpo"')
    stays = weight_bytes(SMALL, 2, four_bit=False) + adapter_bytes(SMALL.adapter_parameters(2), "adamw_8bit")
    for parts, sequences in ((1, 8), (9, 2)):
        found = training_bytes(small_config(*shared, *vllm, f"train.accumulation={parts}"), SMALL)
        kept = kept_bytes(SMALL, 2, sequences * 80, 80, "none") + 4 * sequences * 16 * 32
        assert found == pytest.approx(on_gpu(stays + max(kept, 4 * SMALL.parameters)))


def test_nf4_takes_what_bitsandbytes_takes() -> None:
    import torch
    from bitsandbytes.functional import quantize_4bit

    packed, state = quantize_4bit(torch.ones(64, 128), quant_type="nf4", compress_statistics=False)
    shape = DecoderShape("llama", 1, 64, 1, 1, 64, 128, 1, tied=True)
    weights = weight_bytes(shape, 2, four_bit=True) - shape.other_parameters * 2
    assert weights == shape.linear_parameters * (packed.nbytes + state.absmax.nbytes) / (64 * 128)


@pytest.mark.parametrize(("kind", "head_size"), [("llama", 8), ("qwen2", 8), ("qwen3", 16)])
def test_activations_are_what_a_real_layer_keeps(kind: Any, head_size: int) -> None:
    """The difference of two models that differ by one layer, in bfloat16 on a CPU."""
    from peft import LoraConfig, get_peft_model

    one, two = (
        kept_for_backward(
            get_peft_model(real_model(kind, layers).bfloat16(), LoraConfig(r=16, target_modules="all-linear")).train(),
            3,
            20,
        )
        for layers in (1, 2)
    )
    shape = DecoderShape(kind, 1, 32, 4, 2, head_size, 48, 64, tied=True)
    assert two - one == pytest.approx(kept_bytes(shape, 16, 3 * 20, 20, "none"), rel=0.03)


def test_checkpointing_keeps_inputs_of_all_layers_and_one_whole_layer() -> None:
    shape = read_shape(load_config("l4").policy)
    assert shape is not None
    layer = kept_bytes(shape, 16, 300, 100, "none") // 28
    assert kept_bytes(shape, 16, 300, 100, "torch") == 300 * 28 * 1024 * 2 + layer
    assert kept_bytes(shape, 16, 300, 100, "unsloth") == 300 * 2 * 1024 * 2 + layer
