"""Training on the laptop's model for benchmarks: TRL's own, or ours, watched and kept as in the pipeline.

Every completion is as long as the limit and every step has the same prompts, so that all steps are the same work. No
weights are quantized, and none is validated.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.training.arms import policy_trainer, stock_trainer
from schemas.config.config import Config
from schemas.tasks import TASK_NAMES
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.checkpoint_manager import CheckpointManager
from tasks.checkpoints.lease import Lease
from tasks.checkpoints.local import LocalCheckpoints
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.child import Channel
from tasks.synthesize.prompt_rows import as_prompt_row
from tasks.synthesize.simulated import simulate_store

if TYPE_CHECKING:
    from tasks.train.watch.checkpointer import Checkpointer

SEED: Final = 1
ORDERS: Final = 600
EXAMPLES: Final = 60
"""Prompts of each task, from which the tokenizer is learnt."""
TRAINING: Final = "benchmark"
BASE: Final = "0" * 64


class Scene:
    """Inputs of the trainers; create each trainer in the thread where it runs, as SQLite's connections stay there."""

    def __init__(self, config: Config, folder: Path, channel: Channel) -> None:
        """Simulate a store and learn a tokenizer from its prompts.

        Args:
            config: The model and the recipe.
            folder: Folder of the trainers' files.
            channel: Receives the reports to a parent process.
        """
        from tasks.stand_in.model import StandInShape, build_tokenizer

        self._config = config
        self._folder = folder
        self._channel = channel
        self._store = simulate_store(ORDERS, random.Random(SEED))
        rows = [
            as_prompt_row(example)
            for task in TASK_NAMES
            for example in EXAMPLE_MAKERS[task](self._store, random.Random(SEED), EXAMPLES)
        ]
        texts = (text for row in rows for text in (row.system, row.prompt))
        self._tokenizer = build_tokenizer(texts, StandInShape().vocabulary_size)
        # As many prompts as a step has: each step is the same work, whichever trainer draws them.
        self._asked = rows[:: EXAMPLES + 1][: config.train.prompts_per_step]

    def stock(self) -> Any:
        """Return TRL's trainer."""
        trainer = stock_trainer(
            self._config.train,
            self._asked,
            Databases.from_store(self._store),
            SEED,
            self._folder / "stock",
            self._named(),
        )
        return self._without_ends(trainer)

    def ours(self, keeper: CheckpointManager) -> "tuple[Any, Checkpointer]":
        """Return our trainer, watched as in the pipeline, and the callback to add so that it keeps checkpoints."""
        from tasks.train.grpo.rollout_log import ROLLOUTS_FOLDER, RolloutLog
        from tasks.train.resume.adapter_files import adapter_weights
        from tasks.train.resume.preemption import Preemption
        from tasks.train.watch.alarms import Alarms
        from tasks.train.watch.callbacks import AlarmWatch, StepReporter
        from tasks.train.watch.checkpointer import Checkpointer
        from tasks.train.watch.validation import Selection

        recipe = self._config.train
        rollouts = RolloutLog(self._folder / ROLLOUTS_FOLDER, SEED)
        alarms = Alarms(recipe.alarms, recipe.iterations)
        selection = Selection(_unasked, every=recipe.max_steps, patience=recipe.max_steps)
        trainer = policy_trainer(
            recipe,
            self._asked,
            Databases.from_store(self._store),
            SEED,
            self._folder / "ours",
            self._named(),
            on_rollouts=rollouts.add,
            callbacks=[
                AlarmWatch(alarms, selection, self._channel),
                StepReporter(self._channel, recipe.max_steps, recipe.price_per_hour),
            ],
        )
        # Every training has a best adapter, except at its very beginning.
        weights = adapter_weights(trainer.model)
        selection.load_state_dict({"history": [], "best": None, "best_weights": weights, "since_best": 0})
        checkpointer = Checkpointer(
            trainer,
            {"selection": selection, "alarms": alarms, "sampling": trainer, ROLLOUTS_FOLDER: rollouts},
            selection,
            keeper,
            Preemption(recipe.preemption.seconds),
            save_every=recipe.save_every,
            snapshot_share=recipe.preemption.snapshot_share,
        )
        return self._without_ends(trainer), checkpointer

    def _named(self) -> dict[str, Any]:
        from tasks.stand_in.model import StandInShape, build_model
        from tasks.train.backend.trainable import lora_config

        return {
            "model": build_model(StandInShape(), self._tokenizer, SEED),
            "processing_class": self._tokenizer,
            "peft_config": lora_config(self._config.train.lora),
        }

    def _without_ends(self, trainer: Any) -> Any:
        trainer.generation_config.min_new_tokens = self._config.train.max_completion_tokens
        return trainer


@contextmanager
def kept(config: Config, folder: Path, address: str) -> Iterator[CheckpointManager]:
    """Keep checkpoints under a lease until the block ends.

    Args:
        config: Number of kept checkpoints, and lifetime of the lease.
        folder: Folder that they are written to.
        address: Their mirror.
    """
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
