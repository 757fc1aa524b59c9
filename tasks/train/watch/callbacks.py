"""Trainer callbacks: alarms and checkpoints.

State is copied in memory after each step, written to disk when due, and mirrored less often.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from transformers import TrainerCallback

from schemas.config.train import TrainConfig
from tasks.checkpoints.checkpoint_manager import Checkpoint, CheckpointManager
from tasks.checkpoints.manifest import REWARD
from tasks.policy.child import Channel
from tasks.train.resume.adapter_files import adapter_config, adapter_parameters, write_adapter
from tasks.train.resume.preemption import Preemption
from tasks.train.resume.resumable import OPTIMIZER, RANDOM, copied_to_cpu, random_state
from tasks.train.resume.state_files import TRAINER_STATE_FILE, Stateful, read_state, write_state
from tasks.train.watch.alarms import Alarms, is_finite
from tasks.train.watch.reporter import StepReporter
from tasks.train.watch.validation import Selection


class AlarmWatch(TrainerCallback):  # type: ignore[misc]
    """Callback that feeds the alarms, reports new ones to the parent, and stops the training if they ask for it."""

    def __init__(self, alarms: Alarms, selection: Selection, channel: Channel) -> None:
        self._alarms = alarms
        self._selection = selection
        self._channel = channel

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **named: Any) -> None:
        """Check a step and its validation, if any; runs before the Trainer saves the same step."""
        if not logs or "loss" not in logs:
            return
        history = self._selection.history
        found = self._alarms.step(state.global_step, logs)
        if history and history[-1].step == state.global_step:
            found += self._alarms.validation(history[0], history[-1])
        for alarm in found:
            self._channel.alarm(alarm.name, alarm.step, alarm.text)
        if self._alarms.stopped_by is not None:
            control.should_training_stop = True
        if not is_finite(logs):
            # The previous checkpoint has the last finite weights.
            control.should_save = False


@runtime_checkable
class InFiles(Protocol):
    """Part of a training that also keeps immutable files."""

    def files(self) -> dict[str, Path]:
        """Return the files by their path in a checkpoint's folder."""

    def load_files(self, checkpoint: Path) -> None:
        """Restore the files of a checkpoint."""


class Checkpointer(TrainerCallback):  # type: ignore[misc]
    """Callback that takes a snapshot of every finished step and passes some of them to the keeper."""

    def __init__(
        self,
        trainer: Any,
        parts: Mapping[str, Stateful],
        selection: Selection,
        keeper: CheckpointManager,
        preemption: Preemption,
        recipe: TrainConfig,
    ) -> None:
        self._trainer = trainer
        self._parts = parts
        self._in_files = [part for part in parts.values() if isinstance(part, InFiles)]
        self._selection = selection
        self._keeper = keeper
        self._preemption = preemption
        self._recipe = recipe
        self._adapter = adapter_parameters(trainer.model)
        self._config = adapter_config(trainer.model)
        self._written_at = time.monotonic()
        self.seconds_stood_still = 0.0
        """Seconds that training waited for the last snapshot."""

    def restore(self, checkpoint: Path) -> None:
        """Restore every part from a checkpoint; the trainer's own state is read by its `train`."""
        for name, part in self._parts.items():
            part.load_state_dict(read_state(checkpoint, name))
        for part in self._in_files:
            part.load_files(checkpoint)

    def on_step_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        """Request `on_save`, which is called when the step is logged."""
        control.should_save = True
        if self._preemption.noticed.is_set():
            control.should_training_stop = True

    def on_save(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        """Copy the state, and write it where it is due or cheap enough."""
        started, step, history = time.monotonic(), state.global_step, self._selection.history
        validated = history and history[-1].step == step
        metrics = {REWARD: history[-1].mean_reward} if validated else {}
        checkpoint = Checkpoint(step, metrics, self._snapshot())
        self._keeper.last = checkpoint
        self._preemption.step_ended()
        best = self._selection.best is not None and self._selection.best.step == step
        due = best or control.should_training_stop or step % self._recipe.save_every == 0
        self.seconds_stood_still = time.monotonic() - started
        cost = self.seconds_stood_still + self._keeper.seconds_to_write
        is_cheap = cost <= self._recipe.preemption.snapshot_share * (time.monotonic() - self._written_at)
        if due or is_cheap:
            self._written_at = started
            self._keeper.keep(checkpoint, "best" if best else "newest" if due else "local")

    def _snapshot(self) -> Callable[[Path], None]:
        """Copy the training's state, and return what writes it into an empty folder, from which the trainer resumes."""
        states = {name: part.state_dict() for name, part in self._parts.items()}
        states |= {OPTIMIZER: self._trainer.optimizer_state(), RANDOM: random_state()}
        adapter, trainer_state = copied_to_cpu(self._adapter), self._trainer.trainer_state()
        files = {name: file for part in self._in_files for name, file in part.files().items()}

        def write(folder: Path) -> None:
            write_adapter(folder, adapter, self._config)
            (folder / TRAINER_STATE_FILE).write_text(json.dumps(trainer_state), encoding="utf-8")
            for name, state in states.items():
                write_state(folder, name, state)
            for name, file in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                os.link(file, folder / name)

        return write


def watch(
    trainer: Any,
    parts: Mapping[str, Stateful],
    selection: Selection,
    alarms: Alarms,
    keeper: CheckpointManager,
    preemption: Preemption,
    config: TrainConfig,
    channel: Channel,
) -> Checkpointer:
    """Add all callbacks to a trainer, and return the one that keeps its checkpoints."""
    parts = {"selection": selection, "alarms": alarms, **parts}
    checkpointer = Checkpointer(trainer, parts, selection, keeper, preemption, config)
    # A step is validated before alarms judge it, judged before it is saved, and saved before it is reported.
    reporter = StepReporter(channel, config.max_steps, config.price_per_hour)
    for callback in (selection, AlarmWatch(alarms, selection, channel), checkpointer, reporter):
        trainer.add_callback(callback)
    return checkpointer
