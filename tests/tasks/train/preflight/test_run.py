"""The preflight lets a sound training begin, refuses an unsound one by name, and leaves no trace."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from schemas.config.train import TrainConfig
from schemas.config.train_sections import PreflightSection
from schemas.progress import silent
from schemas.tables.prompts import PromptRow
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import as_messages, tokens_of
from tasks.policy.load import load_tokenizer
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.preflight import run
from tasks.train.preflight.check import Check, refuse_if_failed
from tasks.train.preflight.run import check_adapter, check_cache, preflight
from tasks.train.preflight.step import check_step, unchanged
from tasks.train.resume.adapter_files import write_adapter
from tests.tasks.train.preflight.test_step import EVERYTHING
from tests.tasks.train.small_request import request_of
from tests.tasks.train.small_training import RECIPE, adapter_weights, prompt_rows, small_trainer, tiny_policy

LIMITS = PreflightSection()
RELAXED = {
    "prompts": 2,
    "min_spread": 0.0,
    "max_ceiling_share": 1.0,
    "max_zero_variance": 1.0,
    "min_prompts_per_task": 6,
}
NAMES = (
    "chat_template", "control_tokens", "end_of_turn", "padding", "round_trip", "prompt_budget",
    "prompts_per_task", "generation_settings", "distinct_completions", "thinking", "ceiling", "reward_spread",
    "zero_variance", "cache", "moved_by_a_step", "finite_step", "memory", "adapter_reload",
)  # fmt: skip


@dataclass
class Flight:
    """A small training that is about to begin, with a model that heeds what it reads."""

    trainer: Any
    tokenizer: Any
    base: Path
    rows: list[PromptRow]

    @property
    def ids(self) -> torch.Tensor:
        messages = as_messages(self.rows[0].system, self.rows[0].prompt)
        return torch.tensor([tokens_of(self.tokenizer, messages)])

    def check(self, tokenizer: Any = None, context: int | None = None) -> dict[str, Check]:
        """Run the preflight, with another tokenizer or context if one is given."""
        recipe = TrainConfig.model_validate({**RECIPE, "preflight": RELAXED})
        checks = preflight(
            self.trainer,
            tokenizer or self.tokenizer,
            request_of(recipe, self.base, self.base, base=self.base, seed=1, max_prompt_tokens=64, context=context),
            self.rows,
            ComponentRewards(Databases(()), "grounded"),
            silent,
        )
        return {check.name: check for check in checks}


def _failed(checks: Iterable[Check]) -> list[str]:
    return [check.name for check in checks if not check.passed]


@pytest.fixture(scope="module")
def flight(tmp_path_factory: pytest.TempPathFactory) -> Flight:
    folder = tmp_path_factory.mktemp("flight")
    rows = prompt_rows()
    trainer = small_trainer(folder / "work", rows)
    model, tokenizer = tiny_policy()
    # Random weights of the usual size make logits that hardly depend on anything.
    with torch.no_grad():
        for name, parameter in (*trainer.model.named_parameters(), *model.named_parameters()):
            if "lora_" not in name and parameter.dim() == 2:
                parameter.mul_(6.0)
    model.save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    return Flight(trainer, load_tokenizer(folder / "base"), folder / "base", rows)


@pytest.fixture(scope="module")
def sound(flight: Flight) -> dict[str, Check]:
    return flight.check()


def test_a_sound_training_may_begin(sound: dict[str, Check]) -> None:
    assert tuple(sound) == NAMES
    assert _failed(sound.values()) == []
    refuse_if_failed(list(sound.values()))


def test_logits_that_are_no_numbers_are_reported_before_anything_is_sampled(flight: Flight) -> None:
    norm = flight.trainer.model.get_base_model().model.norm.weight
    before = norm.detach().clone()
    norm.data.fill_(float("nan"))
    try:
        checks = flight.check(context=32)
    finally:
        norm.data.copy_(before)
    # Its configuration says more than it was trained on.
    assert not checks["prompt_budget"].passed
    assert "within the model's 32" in checks["prompt_budget"].limit
    assert checks["ceiling"].measured == "not run, because the model's logits are not finite"
    assert checks["ceiling"].remedy.startswith("look for weights that are not finite")
    assert not checks["moved_by_a_step"].passed
    assert checks["adapter_reload"].passed


def test_a_cache_that_loses_the_context_answers_otherwise(flight: Flight, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads one token a step, as a cache that works, and is as fast: only the logits tell."""
    from transformers import DynamicCache

    base = flight.trainer.model.get_base_model()
    real = base.forward

    def forgetful(*inputs: Any, past_key_values: Any = None, **named: Any) -> Any:
        if past_key_values is not None and past_key_values.get_seq_length():
            past_key_values = DynamicCache()
        return real(*inputs, past_key_values=past_key_values, **named)

    monkeypatch.setattr(base, "forward", forgetful)
    check = check_cache(flight.trainer, flight.ids, LIMITS)
    assert check.measured.startswith("at most 1 token(s)")
    assert not check.passed


def _step(flight: Flight, learning_rate: float = 1e-2) -> dict[str, Check]:
    with unchanged(flight.trainer):
        return {check.name: check for check in check_step(flight.trainer, learning_rate, LIMITS)}


def test_a_base_weight_that_moves_stops_a_training(flight: Flight) -> None:
    """`requires_grad` left on where it should not be: it would be trained, and not saved."""
    norm = flight.trainer.model.get_base_model().model.norm.weight
    norm.requires_grad_(True)
    try:
        checks = _step(flight)
    finally:
        norm.requires_grad_(False)
    assert _failed(checks.values()) == ["moved_by_a_step"]
    assert "1 others moved, base_model.model.model.norm.weight" in checks["moved_by_a_step"].measured


def _reloaded(flight: Flight) -> Check:
    return check_adapter(flight.trainer.model, 1)


@pytest.mark.filterwarnings("ignore:Found missing adapter keys")
def test_an_adapter_saved_under_other_names_stops_a_training(flight: Flight, monkeypatch: pytest.MonkeyPatch) -> None:
    """PEFT only warns of names that it does not know, and goes on with an adapter that does nothing."""

    def renamed(folder: Path, weights: dict[str, Any], config: dict[str, Any]) -> None:
        write_adapter(folder, {name.replace("q_proj", "query"): values for name, values in weights.items()}, config)

    monkeypatch.setattr(run, "write_adapter", renamed)
    # With the trainer's own seed, what PEFT invents for a matrix that is missing may be that matrix.
    torch.manual_seed(99)
    check = _reloaded(flight)
    assert not check.passed
    assert check.measured == "0 of 14 tensors came back as they were"


def test_a_training_after_a_preflight_is_the_training_without_one(flight: Flight, tmp_path: Path) -> None:
    """Bit for bit: weights, rollouts, the sampler, the entropy's controller and three random states."""
    ends = []
    for checked in (False, True):
        seen: list[Any] = []
        trainer = small_trainer(
            tmp_path / str(checked),
            flight.rows,
            on_rollouts=lambda step, rollouts, _, seen=seen: seen.append(
                (step, [each.completion_ids for each in rollouts])
            ),
            **EVERYTHING,
        )
        random.seed(1)
        np.random.seed(1)
        torch.manual_seed(6)
        if checked:
            Flight(trainer, flight.tokenizer, flight.base, flight.rows).check()
        trainer.train()
        weights = {name: value.tolist() for name, value in adapter_weights(trainer).items()}
        drawn = (random.random(), np.random.random(), torch.rand(1).item())
        ends.append((weights, seen, str(trainer.state_dict()), drawn))
    assert ends[0][1], "the comparison is worth nothing where nothing was seen"
    assert ends[0] == ends[1]
