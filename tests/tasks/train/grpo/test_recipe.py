"""What TRL is told: everything, and what the recipe says."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from transformers import TrainingArguments
from trl import GRPOConfig

from schemas.profiles import PROFILES_FOLDER, load_config
from schemas.train_config import TrainConfig
from tasks.train.recipe import grpo_arguments, steps_per_epoch

PROFILES = sorted(file.stem for file in PROFILES_FOLDER.glob("*.toml"))


def _arguments(config: TrainConfig, work: Path, *, prompts: int = 1_480, on_gpu: bool = False) -> dict[str, Any]:
    return grpo_arguments(config, weights=[0.5, 0.5], prompts=prompts, seed=11, work=work, on_gpu=on_gpu)


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
    told = _arguments(load_config("l4").train, tmp_path, on_gpu=True)
    wanted = {
        "max_steps": 1500, "num_generations": 16, "per_device_train_batch_size": 4, "gradient_accumulation_steps": 8,
        "steps_per_generation": 8, "num_iterations": 1, "learning_rate": 5e-6, "warmup_steps": 75, "beta": 0.0,
        "lr_scheduler_type": "constant_with_warmup", "epsilon": 0.2, "epsilon_high": 0.2, "scale_rewards": "none",
        "multi_objective_aggregation": "normalize_then_sum", "save_strategy": "no", "bf16": True, "use_cpu": False,
        "use_vllm": False, "entropy_coef": 0.0, "use_adaptive_entropy": False, "mask_truncated_completions": False,
    }  # fmt: skip
    assert {name: told[name] for name in wanted} == wanted


def test_what_comes_next_in_trls_words(tmp_path: Path) -> None:
    told = _arguments(load_config("l4-next").train, tmp_path, prompts=5_000, on_gpu=True)
    wanted = {
        "num_iterations": 2, "epsilon": 0.2, "epsilon_high": 0.28, "use_vllm": True, "vllm_mode": "colocate",
        "use_adaptive_entropy": True, "entropy_coef": 0.0, "entropy_coef_max": 0.005, "entropy_coef_delta": 1e-4,
        "entropy_target": 0.2, "mask_truncated_completions": True, "vllm_importance_sampling_correction": True,
    }  # fmt: skip
    assert {name: told[name] for name in wanted} == wanted
    assert told["learning_rate"] == pytest.approx(2.77e-6, rel=0.01)


def test_an_epoch_is_counted_as_trl_counts_it() -> None:
    """The source project's example: 300 prompts x 8 completions / (4 x 2) = 300 steps."""
    recipe = TrainConfig(prompts_per_step=1, generations=8, accumulation=2)
    assert steps_per_epoch(300, recipe) == 300
    assert steps_per_epoch(1_480, load_config("l4").train) == 740
    twice = TrainConfig(prompts_per_step=1, generations=8, iterations=2)
    assert steps_per_epoch(300, twice) == 600, "each prompt is stepped on twice before the next is sampled"


@pytest.mark.parametrize(("accumulation", "iterations"), [(1, 1), (4, 1), (1, 2), (4, 2)])
def test_the_old_policys_probabilities_are_kept_where_they_differ(
    accumulation: int, iterations: int, tmp_path: Path
) -> None:
    """TRL computes them by this rule of its `_generate_and_score_completions`; without them every ratio is 1."""
    recipe = TrainConfig(accumulation=accumulation, iterations=iterations)
    told = GRPOConfig(**_arguments(recipe, tmp_path))
    generate_every = told.steps_per_generation * told.num_iterations
    assert (told.gradient_accumulation_steps % generate_every != 0) == (iterations > 1)
