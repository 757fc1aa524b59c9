"""Installation of all training callbacks, in their required order."""

from collections.abc import Mapping
from typing import Any

from schemas.config.train import TrainConfig
from tasks.checkpoints.checkpoint_manager import CheckpointManager
from tasks.policy.child import Channel
from tasks.train.resume.preemption import Preemption
from tasks.train.resume.state_files import Stateful
from tasks.train.watch.alarms import Alarms
from tasks.train.watch.callbacks import AlarmWatch, StepReporter, StopTogether
from tasks.train.watch.checkpointer import Checkpointer
from tasks.train.watch.validation import Selection


def watch(
    trainer: Any,
    parts: Mapping[str, Stateful],
    selection: Selection,
    alarms: Alarms,
    keeper: CheckpointManager | None,
    preemption: Preemption,
    config: TrainConfig,
    channel: Channel,
) -> Checkpointer:
    """Add all callbacks to a trainer, and return the one that keeps its checkpoints.

    Args:
        trainer: A `ResumableTrainer`.
        parts: The algorithm's own state, by file name.
        selection: Chooses the checkpoint.
        alarms: The alarm rules.
        keeper: Writes and mirrors; None in a process that leaves that to another.
        preemption: Notice that the training must stop.
        config: The recipe.
        channel: Where steps and alarms are reported.
    """
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
        *([StopTogether(preemption)] if config.processes > 1 else []),
        checkpointer,
        StepReporter(channel, config.max_steps, config.price_per_hour),
    ):
        trainer.add_callback(callback)
    return checkpointer
