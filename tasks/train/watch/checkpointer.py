"""Snapshot schedule: state is copied in memory after each step, written to disk when due, and mirrored less often."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from transformers import TrainerCallback

from schemas.config.train import TrainConfig
from tasks.checkpoints.checkpoint_manager import Checkpoint, CheckpointManager
from tasks.checkpoints.manifest import REWARD
from tasks.policy.child import Channel
from tasks.train.resume.adapter_files import adapter_config, adapter_parameters, copies
from tasks.train.resume.preemption import Preemption
from tasks.train.resume.resumable import OPTIMIZER, RANDOM, random_state
from tasks.train.resume.state_files import Stateful, TrainerSnapshot, read_state
from tasks.train.watch.alarms import Alarms
from tasks.train.watch.callbacks import AlarmWatch, StepReporter
from tasks.train.watch.validation import Selection


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
        *,
        save_every: int,
        snapshot_share: float,
    ) -> None:
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
        started, step = time.monotonic(), state.global_step
        states = {name: part.state_dict() for name, part in self._parts.items()}
        checkpoint = Checkpoint(step, self._metrics(step), self._snapshot(step, states).write)
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
        """Return the metrics of a step: the validation reward, if it was validated."""
        history = self._selection.history
        return {REWARD: history[-1].mean_reward} if history and history[-1].step == step else {}

    def _snapshot(self, step: int, states: Mapping[str, Mapping[str, Any]]) -> TrainerSnapshot:
        return TrainerSnapshot(
            step=step,
            adapter=copies(self._adapter),
            config=self._config,
            trainer_state=self._trainer.trainer_state(),
            states={**states, OPTIMIZER: self._trainer.optimizer_state(), RANDOM: random_state()},
            files={name: file for part in self._in_files for name, file in part.files().items()},
        )


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
    checkpointer = Checkpointer(
        trainer,
        {"selection": selection, "alarms": alarms, **parts},
        selection,
        keeper,
        preemption,
        save_every=config.save_every,
        snapshot_share=config.preemption.snapshot_share,
    )
    # A step is validated before alarms judge it, judged before it is saved, and saved before it is reported.
    for callback in (
        selection,
        AlarmWatch(alarms, selection, channel),
        checkpointer,
        StepReporter(channel, config.max_steps, config.price_per_hour),
    ):
        trainer.add_callback(callback)
    return checkpointer
