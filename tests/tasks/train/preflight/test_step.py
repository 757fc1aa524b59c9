"""A dry step measures what a step does, and the training after it is the one that there would have been."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tasks.policy.generate import as_messages
from tasks.train.preflight.step import dry_run_step
from tests.tasks.train.small_training import adapter_weights, prompt_rows, small_preference_trainer, small_trainer

pytestmark = pytest.mark.slow

EVERYTHING: dict[str, Any] = {
    "entropy": {"coefficient": 0.001, "adaptive": True, "target": 5.0},
    "dynamic_sampling": {"extra_groups": 2},
    "max_completion_tokens": 24,
    "task_weights": {"applies_to": "sampler"},
    "accumulation": 2,
    "iterations": 2,
    "guided": "forms",
}


LONG = replace(prompt_rows()[0], prompt="Pedido 1: livro. " * 9)


def test_a_batch_without_any_spread_of_rewards_still_shows_what_a_step_moves(tmp_path: Path) -> None:
    trainer = small_trainer(tmp_path)
    real = trainer._rewards.components
    trainer._rewards.components = lambda scored: [[0.0 * value for value in row] for row in real(scored)]
    found = dry_run_step(trainer, 1e-2)
    assert found.gradient_norm > 0
    assert found.moved
    assert "_advantages" not in vars(trainer)


def test_the_longest_step_is_taken_where_a_grammar_would_have_ended_every_answer(tmp_path: Path) -> None:
    """Guided, no token would be left to sample: the end is all that may follow, and a least length forbids it."""
    rows = prompt_rows("sentiment")
    trainer = small_trainer(tmp_path, rows, guided="forms", max_completion_tokens=64)
    found = dry_run_step(trainer, 1e-2, rows[0])
    assert np.isfinite(found.gradient_norm)
    assert found.moved
    assert trainer.rollout_generator.guided


def _read(trainer: Any) -> tuple[list[tuple[int, int]], Any]:
    """Collect the shapes of what the model learns from, and return the handle that ends it."""
    shapes: list[tuple[int, int]] = []

    def note(_module: Any, inputs: Any, _output: Any) -> None:
        if torch.is_grad_enabled():
            shapes.append(tuple(inputs[0].shape))

    return shapes, trainer.model.get_input_embeddings().register_forward_hook(note)


@pytest.mark.parametrize("recipe", [{}, EVERYTHING], ids=["plain", "everything"])
def test_the_largest_step_has_the_longest_prompt_and_full_completions(tmp_path: Path, recipe: dict[str, Any]) -> None:
    """Also where truncated completions are masked."""
    trainer = small_trainer(tmp_path, **recipe, mask_truncated=True)
    tokenizer = trainer.processing_class
    prompt = tokenizer.apply_chat_template(as_messages(LONG.system, LONG.prompt), add_generation_prompt=True)
    at_once, passes = trainer.args.per_device_train_batch_size, trainer.args.gradient_accumulation_steps
    shapes, handle = _read(trainer)
    found = dry_run_step(trainer, 1e-2, LONG)
    handle.remove()
    # Packed, each group has a prompt of its own, though all are the same.
    groups = at_once // trainer.num_generations
    width = groups * (len(prompt["input_ids"]) - 1) + at_once * trainer.max_completion_length
    assert shapes == [(1, width)] * passes
    assert found.gradient_norm > 0
    assert "sample" not in vars(trainer.rollout_generator)
    assert trainer.generation_config.min_new_tokens is None


def test_a_step_of_dpo_is_run_dry_too(tmp_path: Path) -> None:
    trainer = small_preference_trainer(tmp_path, algorithm="dpo", prompts_per_step=1)
    before = {name: value.clone() for name, value in adapter_weights(trainer).items()}
    metrics = dict(trainer._metrics["train"])
    found = dry_run_step(trainer, 1e-2)
    assert np.isfinite(found.gradient_norm)
    assert found.moved
    assert all("lora_B" in name for name in found.moved)
    assert all(torch.equal(value, before[name]) for name, value in adapter_weights(trainer).items())
    assert dict(trainer._metrics["train"]) == metrics
    shapes, handle = _read(trainer)
    assert dry_run_step(trainer, 1e-2, LONG).moved == found.moved
    handle.remove()
    widths = [
        len(one["prompt_ids"]) + max(len(one["chosen_ids"]), len(one["rejected_ids"])) for one in trainer.train_dataset
    ]
    assert shapes == [(4, max(widths))]
    assert len(set(widths)) > 1
