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


def test_unsloths_vllm_shares_its_weights_and_does_not_sleep() -> None:
    with pytest.raises(ValidationError, match=r"vllm\.sleep is not possible with backend 'unsloth'"):
        TrainConfig(backend="unsloth", vllm={"enabled": True, "sleep": True})
    TrainConfig(backend="unsloth", vllm={"sleep": True})


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
