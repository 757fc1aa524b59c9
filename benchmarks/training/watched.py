"""Training on the laptop's model for benchmarks: ours, watched and kept as in the pipeline. None is validated."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.training.trainers import named, policy_trainer
from schemas.config.config import Config
from schemas.store.store import Store
from schemas.tables.prompts import PromptRow
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.checkpoint_manager import CheckpointManager
from tasks.checkpoints.lease import Lease
from tasks.checkpoints.local import LocalCheckpoints
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.child import Channel

if TYPE_CHECKING:
    from tasks.train.watch.callbacks import Checkpointer

SEED: Final = 1
TRAINING: Final = "benchmark"
BASE: Final = "0" * 64


@dataclass(frozen=True)
class Inputs:
    """Model and prompts of a training."""

    store: Store
    rows: Sequence[PromptRow]
    tokenizer: Any
    model: Callable[[], Any]
    """Makes the base, for one trainer."""
    shortest: int = 0
    """Tokens of the shortest completion."""


def watched_trainer(
    config: Config, folder: Path, channel: Channel, inputs: Inputs, keeper: CheckpointManager
) -> "tuple[Any, Checkpointer]":
    """Return our trainer, watched, and the callback to add so that it keeps checkpoints.

    Create it in the thread where it runs, as SQLite's connections stay there.
    """
    from tasks.train.grpo.rollout_log import ROLLOUTS_FOLDER, RolloutLog
    from tasks.train.resume.adapter_files import adapter_weights
    from tasks.train.resume.preemption import Preemption
    from tasks.train.watch.alarms import Alarms
    from tasks.train.watch.callbacks import AlarmWatch, Checkpointer
    from tasks.train.watch.reporter import StepReporter
    from tasks.train.watch.validation import Selection

    recipe = config.train
    rollouts = RolloutLog(folder / ROLLOUTS_FOLDER, SEED)
    alarms = Alarms(recipe.alarms, recipe.iterations)
    selection = Selection(_unasked, every=recipe.max_steps, patience=recipe.max_steps)
    trainer = policy_trainer(
        recipe,
        inputs.rows,
        Databases.from_store(inputs.store),
        SEED,
        folder / "ours",
        named(inputs.model(), inputs.tokenizer, recipe),
        on_rollouts=rollouts.add,
        callbacks=[
            AlarmWatch(alarms, selection, channel),
            StepReporter(channel, recipe.max_steps, recipe.price_per_hour),
        ],
    )
    # Every training has a best adapter, except at its very beginning.
    weights = adapter_weights(trainer.model)
    selection.load_state_dict({"history": [], "best": None, "best_weights": weights, "since_best": 0})
    parts = {"selection": selection, "alarms": alarms, "sampling": trainer, ROLLOUTS_FOLDER: rollouts}
    checkpointer = Checkpointer(trainer, parts, selection, keeper, Preemption(recipe.preemption.seconds), recipe)
    trainer.generation_config.min_new_tokens = inputs.shortest
    return trainer, checkpointer


@contextmanager
def kept(config: Config, folder: Path, address: str) -> Iterator[CheckpointManager]:
    """Keep checkpoints under a lease until the block ends."""
    mirror = open_mirror(address, TRAINING)
    lease = Lease.acquire(mirror.store, mirror.root, seconds=config.train.preemption.lease_seconds)
    lease.start()
    keeper = CheckpointManager(
        LocalCheckpoints(folder, TRAINING, BASE), mirror, lease, config.train.keep_checkpoints, trouble=_trouble
    )
    try:
        yield keeper
        keeper.flush()
    finally:
        keeper.close()
        lease.release()


def _unasked(step: int) -> Any:
    raise AssertionError(f"step {step} was validated, though nothing here asks for it")


def _trouble(step: int, sentence: str) -> None:
    raise AssertionError(f"step {step}: {sentence}")
