"""Trainers that the benchmarks compare: ours, TRL's as it comes, and fine-tuning on references or on one's own best."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schemas.config.train import TrainConfig
from schemas.tables.prompts import PromptRow
from tasks.commerce import registry
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import Completion, StopReason, as_messages


def named(model: Any, tokenizer: Any, recipe: TrainConfig) -> dict[str, Any]:
    """Return the arguments that all of TRL's trainers have."""
    from tasks.train.backend.trainable import lora_config

    return {"model": model, "processing_class": tokenizer, "peft_config": lora_config(recipe.lora)}


def policy_trainer(
    recipe: TrainConfig,
    rows: Sequence[PromptRow],
    databases: Databases,
    seed: int,
    work: Path,
    of_all: Mapping[str, Any],
    **others: Any,
) -> Any:
    """Return our trainer."""
    from trl import GRPOConfig

    from tasks.train.grpo.recipe import grpo_arguments
    from tasks.train.grpo.rewards import ComponentRewards
    from tasks.train.grpo.trainer import CommerceGRPOTrainer

    rewards = ComponentRewards(databases, "grounded")
    arguments = grpo_arguments(
        recipe, weights=rewards.weights, prompts=len(rows), max_prompt_tokens=200, seed=seed, work=work, on_gpu=False
    )
    return CommerceGRPOTrainer(
        recipe, rows, rewards, args=GRPOConfig(**{**arguments, "save_strategy": "no"}), **of_all, **others
    )


def stock_trainer(
    recipe: TrainConfig,
    rows: Sequence[PromptRow],
    databases: Databases,
    seed: int,
    work: Path,
    of_all: Mapping[str, Any],
    **changes: Any,
) -> Any:
    """Return TRL's own trainer with its own defaults, the total reward, and the shapes of the recipe alone."""
    from datasets import Dataset
    from trl import GRPOConfig

    from tasks.train.backend.cpu import CpuGRPOTrainer

    def total(completions: list[list[dict[str, str]]], place: list[int], **_: Any) -> list[float]:
        return [
            registry.score_rollout(
                Completion(completion[-1]["content"], 0, StopReason.END_OF_TURN).as_rollout(rows[number]), databases
            ).reward
            for completion, number in zip(completions, place, strict=True)
        ]

    arguments = {
        "output_dir": str(work),
        "seed": seed,
        "max_steps": recipe.max_steps,
        "per_device_train_batch_size": recipe.completions_per_step,
        "num_generations": recipe.generations,
        "max_completion_length": recipe.max_completion_tokens,
        "use_cpu": True,
        # A CPU only emulates bfloat16; and recomputing activations costs time, and changes nothing else.
        "bf16": False,
        "gradient_checkpointing": False,
        "save_strategy": "no",
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        **changes,
    }
    questions = [{"prompt": as_messages(row.system, row.prompt), "place": place} for place, row in enumerate(rows)]
    return CpuGRPOTrainer(
        reward_funcs=total, train_dataset=Dataset.from_list(questions), args=GRPOConfig(**arguments), **of_all
    )
