"""What TRL is given: everything, and what the recipe says."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from transformers import TrainingArguments
from trl import GRPOConfig

from schemas.config.profiles import PROFILES_FOLDER, load_config
from schemas.config.train import TrainConfig
from tasks.train.grpo.recipe import grpo_arguments

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
