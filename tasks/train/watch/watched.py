"""All that watches and keeps a training, in the order in which it must be called."""

from collections.abc import Mapping
from typing import Any

from schemas.train_config import TrainConfig
from tasks.checkpoints.keeper import Keeper
from tasks.policy.child import Channel
from tasks.train.alarms import Alarms
from tasks.train.callbacks import AlarmWatch, StepReporter
from tasks.train.checkpointer import Checkpointer
from tasks.train.preemption import Preemption
from tasks.train.stateful import Stateful
from tasks.train.validation import Selection


def watch(
    trainer: Any,
    parts: Mapping[str, Stateful],
    selection: Selection,
    alarms: Alarms,
    keeper: Keeper,
    preemption: Preemption,
    config: TrainConfig,
    channel: Channel,
) -> Checkpointer:
    """Add to a trainer whatever watches it, and return what keeps its checkpoints.

    Args:
        trainer: A `ResumableTrainer`.
        parts: What the algorithm keeps beside what any trainer has, by the names of their files.
        selection: Chooses the checkpoint.
        alarms: What is worth waking somebody up for.
        keeper: Writes and mirrors.
        preemption: Says when the training has to leave.
        config: The recipe.
        channel: Told about steps and alarms.
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
    # A step is validated before it is judged, judged before it is kept, and kept before it is told.
    for callback in (
        selection,
        AlarmWatch(alarms, selection, channel),
        checkpointer,
        StepReporter(channel, config.max_steps, config.price_per_hour),
    ):
        trainer.add_callback(callback)
    return checkpointer
