"""Shapes against real small models and published numbers, memory by hand and by a card, and recipes that do not fit."""

from pathlib import Path
from typing import Any

import pytest

from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.config.train_sections import PolicyConfig
from schemas.errors import InputError
from tasks.train.sizing.memory import (
    CONTEXT_BYTES,
    FRAGMENTATION,
    KEPT,
    KNOWN_SHAPES,
    DecoderShape,
    adapter_bytes,
    kept_bytes,
    read_shape,
    refuse_unfit,
    training_bytes,
    weight_bytes,
)


def real_model(kind: str, layers: int, *, tied: bool = True) -> Any:
    import transformers

    shape: Any = {
        "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": layers,
        "num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": tied, "attn_implementation": "sdpa",
    } | ({"head_dim": 16} if kind == "qwen3" else {})  # fmt: skip
    name = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}[kind]
    return getattr(transformers, f"{name}ForCausalLM")(getattr(transformers, f"{name}Config")(**shape))


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("tied", [True, False])
def test_weights_and_adapter_are_those_of_a_real_model(kind: str, tied: bool, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    model = real_model(kind, 2, tied=tied)
    model.config.save_pretrained(tmp_path)
    shape = read_shape(PolicyConfig(name=str(tmp_path)))
    assert shape is not None
    assert shape.parameters == model.num_parameters()
    adapted = get_peft_model(model, LoraConfig(r=3, target_modules="all-linear"))
    assert shape.adapter_parameters(3) == adapted.get_nb_trainable_parameters()[0]


@pytest.mark.parametrize("name", ["/models/absent", "./absent", "one/too/many", "no hub name"])
def test_a_path_without_a_model_is_named(name: str) -> None:
    with pytest.raises(InputError, match=f"policy.name '{name}' is neither a folder nor a hub name"):
        read_shape(PolicyConfig(name=name))


def test_a_recipe_that_does_not_fit_is_refused_with_its_remedies() -> None:
    said = r"^training would take 105\.1 GB, and of train\.device_memory_gb 24 it may take 22\.1; raise train\.acc"
    with pytest.raises(InputError, match=said):
        refuse_unfit(load_config("l4", ("train.accumulation=1",)))


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
    config = small_config("train.generations=64")
    weights, adapter = 1152 * 0.5625 + 296 * 2, 2 * 256 * 12
    assert weight_bytes(SMALL, 2, four_bit=True) == weights
    # r x (in + out) of the seven maps: 2 x (16 + 12 + 12 + 16 + 24 + 24 + 24), with gradient, two moments and a copy.
    assert adapter_bytes(SMALL.adapter_parameters(2), "adamw_8bit") == adapter
    # 32 sequences of 80 tokens a pass, in 2 layers of width 8.
    kept, logits = 32 * 80 * 2 * 8 * KEPT, 4 * 32 * 16 * 32
    assert training_bytes(config, SMALL) == pytest.approx(on_gpu(weights + adapter + kept + logits))
    # Guided rollouts hold whole logits, six times.
    guided = small_config("train.generations=64", "train.guided=forms")
    assert training_bytes(guided, SMALL) == pytest.approx(on_gpu(weights + adapter + kept + 6 * logits))


@pytest.mark.parametrize(
    ("size", "tokens", "checkpointing", "peak"),
    [
        ("0.5B", 4 * 1536, "none", 12.43e9),
        ("0.5B", 4 * 1536, "torch", 1.33e9),
        ("3.7B", 1536, "none", 11.68e9),
        ("3.7B", 1536, "torch", 2.99e9),
        ("3.7B", 3072, "torch", 3.61e9),
    ],
)
def test_a_pass_is_estimated_within_a_fifth_of_a_card(size: str, tokens: int, checkpointing: Any, peak: float) -> None:
    shape = KNOWN_SHAPES[f"Polygl0t/Tucano2-qwen-{size}-Instruct"]
    stays = weight_bytes(shape, 2, four_bit=True) + adapter_bytes(shape.adapter_parameters(16), "adamw_torch")
    assert stays + kept_bytes(shape, tokens, checkpointing) == pytest.approx(peak, rel=0.2)
