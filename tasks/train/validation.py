"""Validation while training: chooses the checkpoint and says when to stop."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

SELECTION_FILE = "selection.json"
BEST_FOLDER = "best_checkpoint"

Scorer = Callable[[int], dict[str, float]]


class Validation(BaseModel):
    """Mean reward on the validation split after one step."""

    model_config = ConfigDict(frozen=True)

    step: int
    mean_reward: float
    """Mean over the tasks, each counting the same."""
    by_task: dict[str, float]


class Selection(TrainerCallback):  # type: ignore[misc]
    """Evaluates every so many steps, keeps the best adapter, and stops after too many evaluations without a better one.

    Step 0 is evaluated for the learning curve but never chosen.
    """

    def __init__(self, score: Scorer, folder: Path, every: int, patience: int) -> None:
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
        return self._folder / BEST_FOLDER

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
            shutil.copytree(self.best_adapter, folder / BEST_FOLDER)

    def restore(self, folder: Path) -> None:
        """Read back what `save` wrote."""
        state = json.loads((folder / SELECTION_FILE).read_text(encoding="utf-8"))
        self.history = [Validation.model_validate(values) for values in state["history"]]
        self.best = Validation.model_validate(state["best"]) if state["best"] else None
        self._since_best = state["since_best"]
        shutil.rmtree(self.best_adapter, ignore_errors=True)
        if self.best is not None:
            shutil.copytree(folder / BEST_FOLDER, self.best_adapter)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **named: Any
    ) -> None:
        """Evaluate the policy before its first step."""
        if not self.history:
            self._evaluate(0)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **named: Any) -> None:
        """Evaluate where the step asks for it; runs before the Trainer saves the same step."""
        step = state.global_step
        if step % self._every == 0 or step == state.max_steps:
            validation = self._evaluate(step)
            if self.best is None or validation.mean_reward > self.best.mean_reward:
                self.best, self._since_best = validation, 0
                self._keep(named["model"])
            else:
                self._since_best += 1
        if self.exhausted:
            control.should_training_stop = True

    def _evaluate(self, step: int) -> Validation:
        by_task = self._score(step)
        validation = Validation(step=step, mean_reward=sum(by_task.values()) / len(by_task), by_task=by_task)
        self.history.append(validation)
        return validation

    def _keep(self, model: Any) -> None:
        draft = self._folder / f"{BEST_FOLDER}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        model.save_pretrained(draft)
        _make_neutral(draft)
        shutil.rmtree(self.best_adapter, ignore_errors=True)
        draft.replace(self.best_adapter)


def _make_neutral(adapter: Path) -> None:
    """Take out of a saved adapter what its inputs do not decide: the order of a set, a local path, a model card."""
    file = adapter / "adapter_config.json"
    if file.exists():
        values = json.loads(file.read_text(encoding="utf-8"))
        values["base_model_name_or_path"] = None
        values["target_modules"] = sorted(values["target_modules"])
        file.write_text(json.dumps(values, indent=2, sort_keys=True), encoding="utf-8")
    (adapter / "README.md").unlink(missing_ok=True)
