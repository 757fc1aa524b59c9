"""After each step all state is copied in memory; how often it is written, and how often mirrored, is decided here."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from tasks.checkpoints.keeper import Checkpoint, Keeper
from tasks.train.adapter_files import adapter_config, adapter_weights, write_adapter
from tasks.train.preemption import Preemption
from tasks.train.resumable import OPTIMIZER, RANDOM, TRAINER_STATE_FILE, random_state
from tasks.train.stateful import Stateful, read_state, write_state
from tasks.train.validation import Selection


class Files(Protocol):
    """What a training keeps in files that never change again."""

    def files(self) -> dict[str, Path]:
        """Return them by their path in a checkpoint's folder."""

    def load_files(self, checkpoint: Path) -> None:
        """Go back to those that a checkpoint has."""


@dataclass(frozen=True)
class Snapshot:
    """All that a training is after a step, on the CPU."""

    step: int
    adapter: Mapping[str, Any]
    config: Mapping[str, Any]
    trainer_state: Mapping[str, Any]
    states: Mapping[str, Mapping[str, Any]]
    """The state of each part, by its name."""
    files: Mapping[str, Path]
    metrics: Mapping[str, float]

    def write(self, folder: Path) -> None:
        """Write it into an empty folder, as a checkpoint that the trainer resumes from."""
        write_adapter(folder, self.adapter, self.config)
        (folder / TRAINER_STATE_FILE).write_text(json.dumps(self.trainer_state), encoding="utf-8")
        for name, state in self.states.items():
            write_state(folder, name, state)
        for name, file in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, path)


class Checkpointer(TrainerCallback):  # type: ignore[misc]
    """Has a snapshot of every finished step, and hands some of them to the keeper."""

    def __init__(
        self,
        trainer: Any,
        parts: Mapping[str, Stateful],
        files: Files | None,
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
            files: What is kept in files; None where nothing is.
            selection: Says which step is the best so far; one of the parts.
            keeper: Writes and mirrors.
            preemption: Says when the training has to leave.
            save_every: Steps between checkpoints that are mirrored.
            snapshot_share: Share of the time that those on the local disk may cost.
        """
        self._trainer = trainer
        self._parts = parts
        self._files = files
        self._selection = selection
        self._keeper = keeper
        self._preemption = preemption
        self._save_every = save_every
        self._snapshot_share = snapshot_share
        self._config = adapter_config(trainer.model)
        self._written_at = time.monotonic()
        self.last: Snapshot | None = None
        """Of the last finished step; None before the first."""
        self.seconds = 0.0
        """How long training stood still for the last snapshot."""

    def restore(self, checkpoint: Path) -> None:
        """Let every part go on from a checkpoint; the trainer's own state is read by its `train`."""
        for name, part in self._parts.items():
            part.load_state_dict(read_state(checkpoint, name))
        if self._files is not None:
            self._files.load_files(checkpoint)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **named: Any) -> None:
        """Ask for `on_save`, which comes when the step is logged."""
        control.should_save = True
        if self._preemption.noticed.is_set():
            control.should_training_stop = True

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **named: Any) -> None:
        """Copy the state, and have it written where it is due, or where that costs little."""
        started = time.monotonic()
        self.last = snapshot = self._snapshot(state.global_step)
        best = self._selection.best is not None and self._selection.best.step == snapshot.step
        due = best or control.should_training_stop or snapshot.step % self._save_every == 0
        self.seconds = time.monotonic() - started
        if due or self._is_cheap():
            self._written_at = started
            self._keeper.keep(checkpoint_of(snapshot, mirrored=due, best=best))

    def _is_cheap(self) -> bool:
        cost = self.seconds + self._keeper.seconds_to_write
        return cost <= self._snapshot_share * (time.monotonic() - self._written_at)

    def _snapshot(self, step: int) -> Snapshot:
        states = {name: part.state_dict() for name, part in self._parts.items()}
        history = self._selection.history
        measured = {f"reward/{task}": reward for task, reward in history[-1].by_task.items()} if history else {}
        return Snapshot(
            step=step,
            adapter=adapter_weights(self._trainer.model),
            config=self._config,
            trainer_state=self._trainer.trainer_state(),
            states={**states, OPTIMIZER: self._trainer.optimizer_state(), RANDOM: random_state()},
            files={} if self._files is None else self._files.files(),
            metrics={"reward": history[-1].mean_reward, **measured} if history and history[-1].step == step else {},
        )


def checkpoint_of(snapshot: Snapshot, *, mirrored: bool, best: bool = False) -> Checkpoint:
    """Return what the keeper is to keep of a snapshot."""
    return Checkpoint(
        step=snapshot.step,
        metrics=snapshot.metrics,
        fill=snapshot.write,
        mirrored=mirrored,
        kind="best" if best else "newest",
    )
