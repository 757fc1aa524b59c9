"""After each step all state is copied in memory; how often it is written, and how often mirrored, is decided here."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from tasks.checkpoints.keeper import Checkpoint, Keeper
from tasks.train.adapter_files import adapter_config, adapter_parameters, copies
from tasks.train.preemption import Preemption
from tasks.train.resumable import OPTIMIZER, RANDOM, random_state
from tasks.train.snapshot import Snapshot
from tasks.train.stateful import Stateful, read_state
from tasks.train.validation import Selection


@runtime_checkable
class InFiles(Protocol):
    """A part that also keeps something in files that never change again."""

    def files(self) -> dict[str, Path]:
        """Return them by their path in a checkpoint's folder."""

    def load_files(self, checkpoint: Path) -> None:
        """Go back to those that a checkpoint has."""


class Checkpointer(TrainerCallback):  # type: ignore[misc]
    """Has a snapshot of every finished step, and hands some of them to the keeper."""

    def __init__(
        self,
        trainer: Any,
        parts: Mapping[str, Stateful],
        selection: Selection,
        keeper: Keeper,
        preemption: Preemption,
        *,
        save_every: int,
        snapshot_share: float,
    ) -> None:
        """Begin without any.

        Args:
            trainer: A `ResumableTrainer`.
            parts: What the trainer does not keep itself, by the names of their files.
            selection: Says which step is the best so far; one of the parts.
            keeper: Writes and mirrors.
            preemption: Says when the training has to leave.
            save_every: Steps between checkpoints that are mirrored.
            snapshot_share: Share of the time that those on the local disk may cost.
        """
        self._trainer = trainer
        self._parts = parts
        self._in_files = [part for part in parts.values() if isinstance(part, InFiles)]
        self._selection = selection
        self._keeper = keeper
        self._preemption = preemption
        self._save_every = save_every
        self._snapshot_share = snapshot_share
        self._adapter = adapter_parameters(trainer.model)
        self._config = adapter_config(trainer.model)
        self._written_at = time.monotonic()
        self.seconds_stood_still = 0.0
        """How long training waited for the last snapshot."""

    def restore(self, checkpoint: Path) -> None:
        """Let every part go on from a checkpoint; the trainer's own state is read by its `train`."""
        for name, part in self._parts.items():
            part.load_state_dict(read_state(checkpoint, name))
        for part in self._in_files:
            part.load_files(checkpoint)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **named: Any) -> None:
        """Ask for `on_save`, which comes when the step is logged."""
        control.should_save = True
        if self._preemption.noticed.is_set():
            control.should_training_stop = True

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **named: Any) -> None:
        """Copy the state, and have it written where it is due, or where that costs little."""
        started, step = time.monotonic(), state.global_step
        checkpoint = Checkpoint(step, self._metrics(step), self._snapshot(step).write)
        self._keeper.last = checkpoint
        best = self._selection.best is not None and self._selection.best.step == step
        due = best or control.should_training_stop or step % self._save_every == 0
        self.seconds_stood_still = time.monotonic() - started
        if due or self._is_cheap():
            self._written_at = started
            self._keeper.keep(checkpoint, "best" if best else "newest" if due else "local")

    def _is_cheap(self) -> bool:
        cost = self.seconds_stood_still + self._keeper.seconds_to_write
        return cost <= self._snapshot_share * (time.monotonic() - self._written_at)

    def _metrics(self, step: int) -> dict[str, float]:
        """Return what was measured at a step: the validation reward, where it was validated."""
        history = self._selection.history
        return {"reward": history[-1].mean_reward} if history and history[-1].step == step else {}

    def _snapshot(self, step: int) -> Snapshot:
        states = {name: part.state_dict() for name, part in self._parts.items()}
        return Snapshot(
            step=step,
            adapter=copies(self._adapter),
            config=self._config,
            trainer_state=self._trainer.trainer_state(),
            states={**states, OPTIMIZER: self._trainer.optimizer_state(), RANDOM: random_state()},
            files={name: file for part in self._in_files for name, file in part.files().items()},
        )
