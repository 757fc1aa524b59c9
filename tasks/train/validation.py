"""Validation while training: chooses the checkpoint and says when to stop."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import torch
from pydantic import BaseModel, ConfigDict
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from schemas.documents import ScoredRollout
from schemas.prompts import PromptRow
from schemas.tasks import TASK_NAMES, SpecName
from tasks.commerce import registry
from tasks.commerce.sandbox import Databases
from tasks.policy.generate import as_messages, generate

SELECTION_FILE: Final = "selection.json"
SELECTION_FOLDER: Final = "selection"
"""Of the best adapter in a checkpoint: in the checkpoint's own folder the Trainer would load it as a second adapter."""
BEST_FOLDER: Final = "best_checkpoint"
CHOSEN_FILE: Final = "chosen.json"


class Validation(BaseModel):
    """What the validation split said after one step."""

    model_config = ConfigDict(frozen=True)

    step: int
    mean_reward: float
    """Mean over the tasks, each counting the same, in [0, 1]: what the checkpoint is chosen by."""
    by_task: dict[str, float]
    """Mean reward of each task, in [0, 1]."""
    ground_truth: dict[str, dict[str, float]]
    """Each task's metrics that are no reward, in [0, 1]; nothing is chosen by them."""


Scorer = Callable[[int], Validation]
"""Validates the policy as it is after a step."""


def validate(
    model: Any,
    tokenizer: Any,
    rows: Sequence[PromptRow],
    databases: Databases,
    spec: SpecName,
    *,
    step: int,
    temperature: float,
    max_tokens: int,
    batch_size: int,
    seed: int,
) -> Validation:
    """Let the policy answer the validation split, and score the answers.

    Args:
        model: The policy.
        tokenizer: Its tokenizer, padding on the left.
        rows: The validation prompts; one or more.
        databases: Copies of the store that sql_qa's questions are about.
        spec: Which reward.
        step: Optimizer steps that are done.
        temperature: Sampling temperature, above 0.
        max_tokens: Longest completion, in tokens.
        batch_size: Prompts answered at once.
        seed: With the step, decides every sampled token.
    """
    training = model.training
    model.eval()
    completions = generate(
        model,
        tokenizer,
        [as_messages(row.system, row.prompt) for row in rows],
        temperature=temperature,
        max_tokens=max_tokens,
        batch_size=batch_size,
        seed=seed + step,
    )
    model.train(training)
    by_task: dict[str, list[ScoredRollout]] = {task: [] for task in TASK_NAMES if any(row.task == task for row in rows)}
    for row, completion in zip(rows, completions, strict=True):
        by_task[row.task].append(registry.score_rollout(completion.as_rollout(row), databases, spec))
    rewards = {task: fmean(rollout.reward for rollout in rollouts) for task, rollouts in by_task.items()}
    return Validation(
        step=step,
        mean_reward=fmean(rewards.values()),
        by_task=rewards,
        ground_truth={
            task: registry.TASKS[rollouts[0].task].metric(rollouts, databases) for task, rollouts in by_task.items()
        },
    )


class Selection(TrainerCallback):  # type: ignore[misc]
    """Validates every so many steps, keeps the best adapter, and stops after too many validations without a better one.

    Step 0 is validated for the learning curve but never chosen. The best is kept in `best_checkpoint`, with the step
    and the scores that it was chosen by: a link, which one rename turns from one whole adapter to the next.
    """

    def __init__(self, score: Scorer, folder: Path, every: int, patience: int) -> None:
        """Begin without any validation.

        Args:
            score: Validates the policy.
            folder: Where the best adapter is kept.
            every: Steps between validations.
            patience: Validations without a better one after which training stops.
        """
        self._score = score
        self._folder = folder
        self._every = every
        self._patience = patience
        self.history: list[Validation] = []
        self.best: Validation | None = None
        self._since_best = 0

    @property
    def best_adapter(self) -> Path:
        """Folder of the adapter that validated best so far."""
        return (self._folder / BEST_FOLDER).resolve()

    @property
    def exhausted(self) -> bool:
        """Whether patience has run out."""
        return self._since_best >= self._patience

    def save(self, folder: Path) -> None:
        """Write the state and the best adapter into a checkpoint's folder."""
        state = {
            "history": [validation.model_dump() for validation in self.history],
            "best": self.best.model_dump() if self.best else None,
            "since_best": self._since_best,
        }
        (folder / SELECTION_FILE).write_text(json.dumps(state), encoding="utf-8")
        if self.best is not None:
            shutil.copytree(self.best_adapter, folder / SELECTION_FOLDER / BEST_FOLDER)

    def restore(self, folder: Path) -> None:
        """Read back what `save` wrote."""
        state = json.loads((folder / SELECTION_FILE).read_text(encoding="utf-8"))
        self.history = [Validation.model_validate(values) for values in state["history"]]
        self.best = Validation.model_validate(state["best"]) if state["best"] else None
        self._since_best = state["since_best"]
        if self.best is None:
            (self._folder / BEST_FOLDER).unlink(missing_ok=True)
        else:
            self._keep(self.best, lambda draft: shutil.copytree(folder / SELECTION_FOLDER / BEST_FOLDER, draft))

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **named: Any
    ) -> None:
        """Validate the policy before its first step."""
        if not self.history:
            self.history.append(self._score(0))

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **named: Any) -> None:
        """Validate where the step asks for it; runs before the Trainer saves the same step."""
        step = state.global_step
        # Weights that are no numbers cannot be sampled from; the alarm for them comes with the step's log.
        if (step % self._every == 0 or step == state.max_steps) and _are_numbers(named["model"]):
            validation = self._score(step)
            self.history.append(validation)
            if self.best is None or validation.mean_reward > self.best.mean_reward:
                self._keep(validation, lambda draft: _write_adapter(named["model"], validation, draft))
                self.best, self._since_best = validation, 0
            else:
                self._since_best += 1
        if self.exhausted:
            control.should_training_stop = True

    def _keep(self, best: Validation, write: Callable[[Path], object]) -> None:
        """Write a folder and turn the link to it, so that there is a whole one whenever the process is killed."""
        folder = self._folder / f"{BEST_FOLDER}-{best.step:06d}"
        shutil.rmtree(folder, ignore_errors=True)
        write(folder)
        link = self._folder / f"{BEST_FOLDER}.draft"
        link.unlink(missing_ok=True)
        link.symlink_to(folder.name, target_is_directory=True)
        link.replace(self._folder / BEST_FOLDER)
        for earlier in self._folder.glob(f"{BEST_FOLDER}-*"):
            if earlier != folder:
                shutil.rmtree(earlier)


def _are_numbers(model: Any) -> bool:
    return all(bool(torch.isfinite(weights).all()) for weights in model.parameters() if weights.requires_grad)


def _write_adapter(model: Any, validation: Validation, folder: Path) -> None:
    model.save_pretrained(folder)
    _make_neutral(folder)
    (folder / CHOSEN_FILE).write_text(validation.model_dump_json(indent=1), encoding="utf-8")


def _make_neutral(adapter: Path) -> None:
    """Take out of a saved adapter what its inputs do not decide: the order of a set, a local path, a model card."""
    file = adapter / "adapter_config.json"
    if file.exists():
        values = json.loads(file.read_text(encoding="utf-8"))
        values["base_model_name_or_path"] = None
        values["target_modules"] = sorted(values["target_modules"])
        file.write_text(json.dumps(values, indent=2, sort_keys=True), encoding="utf-8")
    (adapter / "README.md").unlink(missing_ok=True)
