"""What TRL is given: everything, and what the recipe says."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from transformers import TrainingArguments
from trl import GRPOConfig

from schemas.config.profiles import PROFILES_FOLDER, load_config
from schemas.config.train import TrainConfig
from schemas.config.train_sections import VllmSection
from tasks.train.backend.trainable import unsloth_adapter_arguments, unsloth_load_arguments
from tasks.train.grpo.recipe import grpo_arguments, steps_per_epoch

PROFILES = sorted(file.stem for file in PROFILES_FOLDER.glob("*.toml"))


def _arguments(config: TrainConfig, work: Path, *, prompts: int = 1_480, on_gpu: bool = False) -> dict[str, Any]:
    return grpo_arguments(
        config, weights=[0.5, 0.5], prompts=prompts, max_prompt_tokens=1024, seed=11, work=work, on_gpu=on_gpu
    )


def test_no_default_of_trl_decides(tmp_path: Path) -> None:
    """A field that TRL adds, and that no recipe sets, is a decision of the library's."""
    own = {field.name for field in dataclasses.fields(GRPOConfig)} - {
        field.name for field in dataclasses.fields(TrainingArguments)
    }
    said = set(_arguments(TrainConfig(), tmp_path))
    assert own - said == set()
    assert said <= {field.name for field in dataclasses.fields(GRPOConfig)}


@pytest.mark.parametrize("profile", PROFILES)
def test_trl_takes_every_profile(profile: str, tmp_path: Path) -> None:
    config = load_config(profile).train
    arguments = GRPOConfig(**_arguments(config, tmp_path))
    assert arguments.generation_batch_size == config.completions_per_step
    assert arguments.per_device_train_batch_size * config.accumulation == config.completions_per_step
    assert arguments.max_completion_length == config.max_completion_tokens
    assert (arguments.seed, arguments.data_seed) == (11, 11)
    assert (arguments.temperature, arguments.top_p, arguments.top_k, arguments.min_p) == (1.0, 1.0, 0, None)


def test_the_cards_recipe_in_trls_words(tmp_path: Path) -> None:
    arguments = _arguments(load_config("l4").train, tmp_path, on_gpu=True)
    wanted = {
        "max_steps": 1500, "num_generations": 16, "per_device_train_batch_size": 4, "gradient_accumulation_steps": 8,
        "steps_per_generation": 8, "num_iterations": 1, "learning_rate": 5e-6, "warmup_steps": 75, "beta": 0.0,
        "lr_scheduler_type": "constant_with_warmup", "epsilon": 0.2, "epsilon_high": 0.2, "scale_rewards": "none",
        "multi_objective_aggregation": "normalize_then_sum", "save_strategy": "no", "bf16": True, "use_cpu": False,
        "use_vllm": False, "entropy_coef": 0.0, "use_adaptive_entropy": False, "mask_truncated_completions": False,
        "torch_empty_cache_steps": None,
    }  # fmt: skip
    assert {name: arguments[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("backend", "checkpointing", "by_the_trainer", "by_unsloth"),
    [
        ("transformers", "none", False, None),
        ("transformers", "torch", True, None),
        ("unsloth", "none", False, False),
        ("unsloth", "torch", False, True),
        ("unsloth", "unsloth", False, "unsloth"),
    ],
)
def test_one_of_trainer_and_unsloth_is_set_to_checkpoint(
    backend: str, checkpointing: str, by_the_trainer: bool, by_unsloth: object, tmp_path: Path
) -> None:
    config = load_config("l4", [f"train.backend={backend}", f"train.gradient_checkpointing={checkpointing}"]).train
    arguments = _arguments(config, tmp_path, on_gpu=True)
    assert arguments["gradient_checkpointing"] is by_the_trainer
    assert arguments["gradient_checkpointing_kwargs"] == {"use_reentrant": False}
    if by_unsloth is not None:
        loaded = unsloth_load_arguments(Path("base"), config, seed=1, max_prompt_tokens=1024)
        adapted = unsloth_adapter_arguments(config, seed=1)
        assert loaded["use_gradient_checkpointing"] == adapted["use_gradient_checkpointing"] == by_unsloth


def test_what_comes_next_in_trls_words(tmp_path: Path) -> None:
    arguments = _arguments(load_config("l4-next").train, tmp_path, prompts=5_000, on_gpu=True)
    wanted = {
        "num_iterations": 2, "epsilon": 0.2, "epsilon_high": 0.28, "use_vllm": True, "vllm_mode": "colocate",
        "use_adaptive_entropy": True, "entropy_coef": 0.0, "entropy_coef_max": 0.005, "entropy_coef_delta": 1e-4,
        "entropy_target": 0.2, "mask_truncated_completions": True, "vllm_importance_sampling_correction": True,
        "vllm_enable_sleep_mode": True, "vllm_server_base_url": None, "vllm_max_model_length": 1024 + 256,
    }  # fmt: skip
    assert {name: arguments[name] for name in wanted} == wanted
    assert arguments["learning_rate"] == pytest.approx(2.77e-6, rel=0.01)


def test_a_server_samples_in_the_place_of_the_same_card(tmp_path: Path) -> None:
    recipe = TrainConfig(
        load_in_4bit=False, vllm={"enabled": True, "sleep": True, "server_url": "http://10.0.0.2:8000/"}
    )
    arguments = GRPOConfig(**_arguments(recipe, tmp_path))
    assert (arguments.vllm_mode, arguments.vllm_server_base_url) == ("server", "http://10.0.0.2:8000")
    assert not arguments.vllm_enable_sleep_mode, "TRL puts only its own vLLM to sleep"


@pytest.mark.parametrize(
    "url",
    ["10.0.0.2:8000", "ftp://10.0.0.2", "http://", "http://a:-1", "http://me:secret@10.0.0.2", "http://h:99999", ""],
)
def test_what_is_no_address_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match=r"must be an http or https address .* such as http://10") as said:
        VllmSection(server_url=url)
    assert "secret" not in said.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    ("vllm", "share"),
    [
        ({"enabled": False}, 0.0),
        ({"enabled": True, "sleep": True}, 0.3),
        ({"enabled": True, "server_url": "http://10.0.0.2:8000"}, 0.0),
    ],
)
def test_vllm_takes_of_the_trainers_card_what_no_server_takes(vllm: dict[str, Any], share: float) -> None:
    assert VllmSection(memory_share=0.3, **vllm).share_of_card == share


@pytest.mark.parametrize("setting", [{"sleep": True}, {"server_url": "http://10.0.0.2:8000"}])
def test_unsloths_vllm_shares_its_weights_and_neither_sleeps_nor_is_elsewhere(setting: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=rf"vllm\.{next(iter(setting))} is not possible with backend 'unsloth'"):
        TrainConfig(backend="unsloth", vllm={"enabled": True, **setting})
    TrainConfig(backend="unsloth", vllm=setting)


def test_an_epoch_is_counted_as_trl_counts_it() -> None:
    """The source project's example: 300 prompts x 8 completions / (4 x 2) = 300 steps."""
    recipe = TrainConfig(prompts_per_step=1, generations=8, accumulation=2)
    assert steps_per_epoch(300, recipe) == 300
    assert steps_per_epoch(1_480, load_config("l4").train) == 740
    twice = TrainConfig(prompts_per_step=1, generations=8, iterations=2)
    assert steps_per_epoch(300, twice) == 600, "each prompt is stepped on twice before the next is sampled"


def test_two_processes_divide_a_step_and_not_an_epoch(tmp_path: Path) -> None:
    recipe = TrainConfig(prompts_per_step=2, generations=8, accumulation=2, processes=2)
    assert _arguments(recipe, tmp_path)["per_device_train_batch_size"] == 4
    assert steps_per_epoch(300, recipe) == 150


@pytest.mark.parametrize(("accumulation", "iterations"), [(1, 1), (4, 1), (1, 2), (4, 2)])
def test_the_old_policys_probabilities_are_kept_where_they_differ(
    accumulation: int, iterations: int, tmp_path: Path
) -> None:
    """TRL computes them by this rule of its `_generate_and_score_completions`; without them every ratio is 1."""
    recipe = TrainConfig(accumulation=accumulation, iterations=iterations)
    arguments = GRPOConfig(**_arguments(recipe, tmp_path))
    generate_every = arguments.steps_per_generation * arguments.num_iterations
    assert (arguments.gradient_accumulation_steps % generate_every != 0) == (iterations > 1)
