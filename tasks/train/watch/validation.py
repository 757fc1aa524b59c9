"""Validation during training: chooses the checkpoint and decides on early stopping."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import torch
from transformers import TrainerCallback

from schemas.documents import ScoredRollout
from schemas.tables.prompts import PromptRow
from schemas.tasks import TASK_NAMES, Guided, SpecName
from tasks.commerce import registry
from tasks.commerce.shortcuts import variety_of
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import as_messages, generate
from tasks.train.resume.adapter_files import adapter_weights, write_adapter
from tasks.train.watch.alarms import Validation

CHOSEN_FILE: Final = "chosen.json"

Scorer = Callable[[int], Validation]  # Validates the policy as it is after a step.


def validate(
    model: Any,
    tokenizer: Any,
    rows: Sequence[PromptRow],
    databases: Databases,
    spec: SpecName,
    *,
    step: int,
    seed: int,
    guided: Guided = "none",
    **settings: Any,
) -> Validation:
    """Let the policy answer the validation split, with settings of `generate`, and score the answers."""
    training = model.training
    model.eval()
    completions = generate(
        model,
        tokenizer,
        [as_messages(row.system, row.prompt) for row in rows],
        seed=seed + step,
        grammars=[registry.grammar_of(row.task, row.prompt, guided) for row in rows],
        **settings,
    )
    model.train(training)
    by_task: dict[str, list[ScoredRollout]] = {task: [] for task in TASK_NAMES if any(row.task == task for row in rows)}
    for row, completion in zip(rows, completions, strict=True):
        by_task[row.task].append(registry.score_rollout(completion.as_rollout(row), databases, spec))
    by_task = {task: registry.score_beside(rollouts, spec) for task, rollouts in by_task.items()}
    rewards = {task: fmean(rollout.reward for rollout in rollouts) for task, rollouts in by_task.items()}
    return Validation(
        step=step,
        mean_reward=fmean(rewards.values()),
        by_task=rewards,
        ground_truth={
            task: registry.TASKS[rollouts[0].task].metric(rollouts, databases) for task, rollouts in by_task.items()
        },
        variety={task: found.share for task, rollouts in by_task.items() if (found := variety_of(rollouts))},
    )


class Selection(TrainerCallback):  # type: ignore[misc]
    """Callback that validates periodically, keeps the best adapter, and stops when patience runs out.

    The policy before its first step counts too: a training that never rises above its start has nothing to promote.
    """

    def __init__(self, score: Scorer, every: int, patience: int) -> None:
        self._score = score
        self._every = every
        self._patience = patience
        self.history: list[Validation] = []
        self.best: Validation | None = None
        self._best_weights: dict[str, torch.Tensor] = {}
        self._since_best = 0

    @property
    def exhausted(self) -> bool:
        """Return whether patience has run out."""
        return self._since_best >= self._patience

    def state_dict(self) -> dict[str, Any]:
        """Return the validations, and the best adapter so far."""
        return {
            "history": [validation.model_dump() for validation in self.history],
            "best": self.best.model_dump() if self.best else None,
            "best_weights": self._best_weights,
            "since_best": self._since_best,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state`."""
        self.history = [Validation.model_validate(values) for values in state["history"]]
        self.best = Validation.model_validate(state["best"]) if state["best"] else None
        self._best_weights = dict(state["best_weights"])
        self._since_best = state["since_best"]

    def write_best(self, folder: Path, config: Mapping[str, Any]) -> None:
        """Write the adapter with the best validation, its step and its scores; ValueError where none was validated."""
        if self.best is None:
            raise ValueError("no step was validated, so no adapter is the best")
        write_adapter(folder, self._best_weights, config)
        (folder / CHOSEN_FILE).write_text(self.best.model_dump_json(indent=1), encoding="utf-8")

    def on_train_begin(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        """Validate the policy before its first step."""
        if not self.history:
            self.best = self._score(0)
            self.history.append(self.best)
            self._best_weights = adapter_weights(named["model"])

    def on_step_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        """Validate if the step is due; runs before the same step is saved."""
        step = state.global_step
        # Non-finite weights cannot be sampled from; the alarm for them comes with the step's log.
        if (step % self._every == 0 or step == state.max_steps) and _are_numbers(named["model"]):
            validation = self._score(step)
            self.history.append(validation)
            if self.best is None or validation.mean_reward > self.best.mean_reward:
                self.best, self._best_weights = validation, adapter_weights(named["model"])
                self._since_best = 0
            else:
                self._since_best += 1
        if self.exhausted:
            control.should_training_stop = True


def _are_numbers(model: Any) -> bool:
    return all(bool(torch.isfinite(weights).all()) for weights in model.parameters() if weights.requires_grad)
