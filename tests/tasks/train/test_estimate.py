"""Estimates against hand-computed cases, and against what real small models have and keep."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.config import Config, PolicyConfig
from schemas.errors import InputError
from schemas.profiles import PROFILES_FOLDER, load_config
from schemas.train_config import TrainConfig
from tasks.train.estimate import (
    KNOWN_SHAPES,
    UPDATE_SHARE,
    DecoderShape,
    activation_bytes,
    estimate_training,
    expected_prompts,
    memory_of,
    read_shape,
)

TUCANO = "Polygl0t/Tucano2-qwen-0.5B-Instruct"
SMALL = DecoderShape("llama", 2, 8, 2, 1, 4, 16, 32, tied=True)
"""A layer's linear maps: 8x8, 8x4, 8x4, 8x8; 8x16, 8x16, 16x8: 576 weights."""


def config_of(**train: Any) -> Config:
    """Return a configuration of V4.2's size, with these settings of the training."""
    recipe = {"prompts_per_step": 2, "generations": 16, "max_steps": 1_500, "max_completion_tokens": 512} | train
    return Config.model_validate({"synthesize": {"counts": {"extraction": 1_000, "push": 200}}, "train": recipe})


def real_model(kind: str, layers: int, *, tied: bool = True) -> Any:
    import transformers

    shape = {
        "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": layers,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16 if kind == "qwen3" else 8,
        "tie_word_embeddings": tied, "attn_implementation": "sdpa",
    }  # fmt: skip
    name = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}[kind]
    config = getattr(transformers, f"{name}Config")(**shape)
    return getattr(transformers, f"{name}ForCausalLM")(config)


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


def test_the_source_projects_model_has_the_weights_that_its_card_states() -> None:
    assert KNOWN_SHAPES[TUCANO].parameters == 490_799_104


def test_the_stand_ins_shape_is_that_of_its_model() -> None:
    from tasks.policy.stand_in import build_model, build_tokenizer

    policy = PolicyConfig(stand_in=True, vocabulary_size=512, hidden_size=64, layers=1, heads=2, feed_forward_size=48)
    tokenizer = build_tokenizer(["um pedido, dois pedidos, três produtos e uma entrega atrasada"] * 9, 512)
    shape = read_shape(policy)
    assert shape is not None
    unused = (512 - len(tokenizer)) * 64
    assert shape.parameters - unused == build_model(policy, tokenizer, 0).num_parameters()


def kept_for_backward(model: Any, rows: int, tokens: int) -> int:
    """Return the bytes that a forward pass of the decoder keeps for the backward pass, beside its own weights."""
    import torch

    own = {tensor.untyped_storage().data_ptr() for tensor in [*model.parameters(), *model.buffers()]}
    kept: dict[int, torch.UntypedStorage] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage
        return tensor

    ids = torch.randint(0, 64, (rows, tokens), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[0, :3] = 0
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.base_model.model.model(input_ids=ids, attention_mask=mask, use_cache=False)
    return sum(storage.nbytes() for storage in kept.values())


@pytest.mark.parametrize(("kind", "head_size"), [("llama", 8), ("qwen2", 8), ("qwen3", 16)])
def test_activations_are_what_a_real_layer_keeps(kind: Any, head_size: int) -> None:
    """The difference of two models that differ by one layer; each number is one of float32 on a CPU."""
    from peft import LoraConfig, get_peft_model

    measured = []
    for layers in (1, 2):
        model = get_peft_model(real_model(kind, layers), LoraConfig(r=2, target_modules="all-linear"))
        measured.append(kept_for_backward(model.train(), 3, 20))
    shape = DecoderShape(kind, 1, 32, 4, 2, head_size, 48, 64, tied=True)
    assert (measured[1] - measured[0]) / (3 * 20) == pytest.approx(activation_bytes(shape, 2, 20, 4), rel=0.02)


def test_nf4_takes_what_bitsandbytes_takes() -> None:
    import torch
    from bitsandbytes.functional import quantize_4bit

    packed, state = quantize_4bit(torch.ones(64, 128), quant_type="nf4", compress_statistics=False)
    shape = DecoderShape("llama", 1, 64, 1, 1, 64, 128, 1, tied=True)
    recipe = TrainConfig(load_in_4bit=True)
    weights = memory_of(shape, recipe, 0, on_gpu=True).weights - shape.other_parameters * 2
    measured = (packed.nbytes + state.absmax.nbytes) / (64 * 128)
    assert weights == shape.linear_parameters * measured


def test_the_memory_of_a_small_step_is_as_by_hand() -> None:
    """2 layers, 2 prompts x 4 completions of 16 tokens in 4 parts, after prompts of 4 tokens."""
    recipe = TrainConfig(
        prompts_per_step=2, generations=4, accumulation=4, max_completion_tokens=16, lora={"rank": 2, "alpha": 2}
    )  # fmt: skip
    memory = memory_of(SMALL, recipe, 4, on_gpu=True)
    assert SMALL.linear_parameters == 2 * 576
    assert SMALL.other_parameters == 32 * 8 + 2 * 2 * 8 + 8
    assert memory.weights == 1152 * 0.5625 + 296 * 2
    # r x (in + out) of the seven maps: 2 x (16 + 12 + 12 + 16 + 24 + 24 + 24), with gradient and two moments.
    assert memory.adapter == 2 * 256 * 16
    # Two sequences of 20 tokens. By layer and token: bfloat16 2x8 + 8 + 16 + 7x2, 3x8, a mask of 20, 3x16; float32
    # 2x9 for the norms, 2 for attention.
    assert memory.activations == 2 * 20 * 2 * (2 * (54 + 24 + 20 + 48) + 4 * 20)
    assert memory.logits == 4 * 32 * 32
    # Keys and values, 4 wide, of 8 completions of 20 tokens in 2 layers.
    assert memory.cache == 2 * 4 * 2 * 8 * 20 * 2
    assert memory.peak == memory.weights + memory.adapter + memory.activations + memory.logits
    assert memory.card == memory.peak


def test_vllm_takes_its_share_of_the_card_and_the_cache_with_it() -> None:
    recipe = TrainConfig(load_in_4bit=False, vllm={"enabled": True, "memory_share": 0.25})
    memory = memory_of(SMALL, recipe, 4, on_gpu=True)
    assert memory.cache == 0
    assert memory.card == pytest.approx(memory.peak / 0.75)


def test_an_optimizer_of_8_bits_and_whole_weights_change_what_they_should() -> None:
    plain = memory_of(SMALL, TrainConfig(load_in_4bit=False), 4, on_gpu=True)
    assert plain.weights == SMALL.parameters * 2
    eight_bit = memory_of(SMALL, TrainConfig(optimizer={"name": "adamw_8bit"}), 4, on_gpu=True)
    assert plain.adapter - eight_bit.adapter == SMALL.adapter_parameters(16) * 6


@given(st.sampled_from([1, 2, 4, 8, 16]), st.integers(0, 512), st.booleans())
def test_accumulation_divides_the_activations_and_nothing_else(parts: int, prompt_tokens: int, on_gpu: bool) -> None:
    whole = memory_of(SMALL, TrainConfig(prompts_per_step=2), prompt_tokens, on_gpu=on_gpu)
    divided = memory_of(SMALL, TrainConfig(prompts_per_step=2, accumulation=parts), prompt_tokens, on_gpu=on_gpu)
    assert divided.activations * parts == whole.activations
    assert (divided.weights, divided.adapter, divided.cache) == (whole.weights, whole.adapter, whole.cache)


def test_the_run_that_was_measured_is_estimated_as_it_was() -> None:
    estimate = estimate_training(config_of(price_per_hour=0.80), {"extraction": 1_480})
    assert estimate.seconds == pytest.approx(22.6 * 3600)
    assert (estimate.completions, estimate.tokens) == (48_000, 24_576_000)
    # 1,480 prompts x 16 generations / 32 completions a step: the final report's "about 1.5 epochs" at step 1,100.
    assert estimate.steps_per_epoch == 740
    assert estimate.epochs == pytest.approx(1500 / 740)
    assert estimate.too_many_epochs


def test_one_and_a_half_epochs_are_not_too_many() -> None:
    assert not estimate_training(config_of(max_steps=1_110), {"push": 1_480}).too_many_epochs


def test_what_is_sampled_follows_the_recipe() -> None:
    curriculum = [{"until_step": 4, "max_completion_tokens": 16}, {"until_step": 6, "max_completion_tokens": 32}]
    recipe = {"max_steps": 10, "max_completion_tokens": 64, "curriculum": curriculum}
    assert estimate_training(config_of(**recipe), {"push": 99}).tokens == 32 * (4 * 16 + 2 * 32 + 4 * 64)
    twice = estimate_training(config_of(max_steps=10, iterations=2), {"push": 99})
    assert (twice.completions, twice.steps_per_epoch) == (32 * 5, 99)
    once = estimate_training(config_of(max_steps=10), {"push": 99})
    # Half of the sampling, and all of the updates.
    assert twice.seconds and once.seconds
    assert twice.seconds / once.seconds == pytest.approx((1 + UPDATE_SHARE) / 2)
    dynamic = estimate_training(config_of(max_steps=10, dynamic_sampling={"extra_groups": 3}), {"push": 99})
    assert dynamic.completions == 10 * (2 + 3) * 16


def test_seeds_and_tasks_of_their_own_are_trainings_each() -> None:
    alone = {"adapter_per_task": True, "seeds": (1, 2, 3), "learning_rate": 5e-6, "learning_rate_at_scale": 1e-6}
    estimate = estimate_training(config_of(**alone), {"extraction": 40_000, "push": 320, "churn": 0})
    assert estimate.trainings == 6
    assert estimate.steps_per_epoch == 160
    assert estimate.learning_rate == 5e-6
    assert estimate.seconds is not None
    assert estimate.hours == pytest.approx(6 * estimate.seconds / 3600)


def test_dpo_samples_once_and_its_time_was_never_measured() -> None:
    """2 x 16 completions a step are 16 pairs; 48 pairs at most."""
    recipe = {"algorithm": "dpo", "preferences": {"prompts": 48}, "max_steps": 30, "accumulation": 4}
    estimate = estimate_training(config_of(**recipe), {"push": 99})
    assert (estimate.completions, estimate.tokens) == (48 * 16, 48 * 16 * 512)
    assert (estimate.pairs, estimate.steps_per_epoch, estimate.epochs) == (48, 3, 10)
    assert not estimate.too_many_epochs
    assert (estimate.seconds, estimate.hours) == (None, None)
    assert estimate_training(config_of(**recipe), {"push": 32}).pairs == 32


def test_a_pass_of_dpo_has_whole_pairs_and_no_vllm() -> None:
    """1 prompt x 9 completions make 4 pairs, and 9 parts of them 1 pair each."""
    for parts, sequences in ((1, 8), (9, 2)):
        recipe = {"prompts_per_step": 1, "generations": 9, "accumulation": parts}
        vllm = {"enabled": True, "memory_share": 0.5}
        grpo = memory_of(SMALL, TrainConfig(**recipe), 4, on_gpu=True)
        dpo = memory_of(SMALL, TrainConfig(**recipe, algorithm="dpo", vllm=vllm, load_in_4bit=False), 4, on_gpu=True)
        assert dpo.activations / sequences == grpo.activations / (9 // parts)
        assert (dpo.cache, dpo.card) == (grpo.cache, dpo.peak)


def test_expected_prompts_lose_the_held_out_share_and_gain_the_paraphrases() -> None:
    paraphrase = {"url": "http://127.0.0.1:1/v1", "model": "any", "share": 0.5, "variants": 2}
    config = Config.model_validate(
        {
            "synthesize": {"counts": {"extraction": 100, "push": 0}, "paraphrase": paraphrase},
            "curate": {"held_out_share": 0.2},
        }
    )
    assert expected_prompts(config) == {"extraction": 160}


@pytest.mark.parametrize("prompts", [{}, {"push": 0}])
def test_a_training_without_prompts_is_refused(prompts: dict[Any, int]) -> None:
    with pytest.raises(InputError, match="would have no prompts; raise synthesize"):
        estimate_training(config_of(), prompts)


def test_a_fetched_models_own_shape_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    cache = tmp_path / "models--shop--model"
    (cache / "refs").mkdir(parents=True)
    (cache / "refs" / "main").write_text("abc")
    real_model("qwen3", 2).config.save_pretrained(cache / "snapshots" / "abc")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    shape = read_shape(PolicyConfig(name="shop/model"))
    assert shape == DecoderShape("qwen3", 2, 32, 4, 2, 16, 48, 64, tied=True)


def test_a_model_of_unknown_shape_has_no_time_and_no_memory(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mamba"}')
    for name in ("nobody/has-fetched-this", str(tmp_path)):
        config = config_of().model_copy(update={"policy": PolicyConfig(name=name)})
        estimate = estimate_training(config, {"push": 99})
        assert (estimate.shape, estimate.seconds, estimate.memory) == (None, None, None)
        assert estimate.steps_per_epoch == 49.5


@pytest.mark.parametrize("name", ["/models/absent", "./absent", "one/too/many", "no hub name"])
def test_a_path_without_a_model_is_named(name: str) -> None:
    with pytest.raises(InputError, match=f"policy.name '{name}' is neither a folder nor a hub name"):
        read_shape(PolicyConfig(name=name))


@pytest.mark.parametrize("content", [None, "{", "[]", json.dumps({"model_type": "qwen2"})])
def test_a_folder_that_describes_no_model_is_named(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(InputError, match=r"config\.json does not describe a model"):
        read_shape(PolicyConfig(name=str(tmp_path)))


@pytest.mark.parametrize("profile", sorted(file.stem for file in PROFILES_FOLDER.glob("*.toml")))
def test_every_profile_can_be_estimated(profile: str) -> None:
    config = load_config(profile)
    estimate = estimate_training(config, expected_prompts(config))
    assert estimate.hours is not None
    assert estimate.hours > 0
    assert estimate.memory is not None
