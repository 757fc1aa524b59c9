"""A real, small training with all that watches and keeps it, put together as the child puts it together."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from schemas.config.train import TrainConfig
from schemas.config.train_sections import AlarmsSection
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.checkpoint_manager import Checkpoint, Kind
from tasks.policy.child import Channel
from tasks.train.grpo.rollout_log import ROLLOUTS_FOLDER, RolloutLog
from tasks.train.resume.adapter_files import adapter_config
from tasks.train.resume.lease import CHECKPOINTS_FOLDER, acquire_training
from tasks.train.resume.preemption import Preemption
from tasks.train.watch.alarms import Alarms, Validation
from tasks.train.watch.callbacks import Checkpointer, watch
from tasks.train.watch.validation import Selection
from tests.tasks.train.small_request import TRAINING, request_of
from tests.tasks.train.small_training import RECIPE, small_preference_trainer, small_trainer

QUIET = AlarmsSection(patience=1000)
REWARDS = {0: 0.3, 2: 0.4, 4: 0.6, 6: 0.5}
"""What validation says after a step; after others 0.5."""
TIMINGS = ("seconds/", "step_time", "sampling/tokens_per_second", "train_", "cost_usd")


class KeptTraining:
    """A training that is to run in a folder; its checkpoints are in `folder / "mirror"` unless set otherwise."""

    def __init__(
        self,
        folder: Path,
        mirror: Path | None = None,
        *,
        alarms: AlarmsSection = QUIET,
        notice: Preemption | None = None,
        request: Mapping[str, Any] | None = None,
        **recipe: Any,
    ) -> None:
        """Put it together: `request` changes what is asked for, and the rest is the recipe."""
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.stream = io.StringIO()
        self.channel = Channel(self.stream)
        self.preemption = notice or Preemption(25)
        settings = {name: value for name, value in recipe.items() if name not in {"rows", "seed"}}
        self.config = TrainConfig.model_validate({**RECIPE, "price_per_hour": 7200.0, **settings})
        self.request = request_of(self.config, folder, mirror or folder / "mirror", **(request or {}))
        self.alarms = Alarms(alarms, self.config.iterations)
        self.selection = Selection(validation, every=2, patience=9)
        self.files: RolloutLog | None = None
        parts: dict[str, Any] = {}
        if self.config.algorithm == "dpo":
            self.trainer = small_preference_trainer(folder / "work", **recipe)
        else:
            self.files = RolloutLog(folder / ROLLOUTS_FOLDER, seed=5)
            self.trainer = small_trainer(folder / "work", on_rollouts=self.files.add, **recipe)
            parts = {"sampling": self.trainer, ROLLOUTS_FOLDER: self.files}
        self.parts = parts

    def keep_with(self, keeper: Any, *last: TrainerCallback) -> Checkpointer:
        """Let a keeper have the checkpoints; `last` are called after everything else."""
        self.keeper = keeper
        self.checkpointer = watch(
            self.trainer, self.parts, self.selection, self.alarms, keeper, self.preemption, self.config, self.channel
        )
        for callback in last:
            self.trainer.add_callback(callback)
        return self.checkpointer

    def train(self, *last: TrainerCallback) -> None:
        """Resume from the newest checkpoint, to the end or to what ends it."""
        with acquire_training(self.request, self.folder, self.channel, self.preemption) as self.held:
            self.keep_with(self.held.keeper, *last)
            self.resume(self.held.checkpoint)
            assert self.keeper.last is not None
            self.held.keeper.flush()

    def resume(self, checkpoint: Path | None) -> None:
        """Train, resuming from a checkpoint where there is one."""
        if checkpoint is not None:
            self.checkpointer.restore(checkpoint)
        self.trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))

    def end_state(self, folder: Path) -> dict[str, Any]:
        """Return all that the training is after its last step, and what is made of it, but for times."""
        assert self.keeper.last is not None
        folder.mkdir(parents=True)
        self.keeper.last.fill(folder)
        self.selection.write_best(folder / "best", adapter_config(self.trainer.model))
        if self.files is not None:
            self.files.write(_made(folder / "policy"))
        found: dict[str, Any] = {
            path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }
        return {**found, "trainer_state.json": without_times(json.loads(found["trainer_state.json"]))}

    def reported(self, kind: str) -> list[Any]:
        """Return the messages of one kind that the child sent."""
        messages = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        return [message[kind] for message in messages if kind in message]

    def mirrored(self) -> list[int]:
        """Return the steps of the checkpoints in the mirror, the newest first."""
        return [manifest.step for manifest in open_mirror(self.request.mirror, TRAINING).manifests()]

    def on_disk(self) -> list[str]:
        """Return the names of the checkpoints on the local disk."""
        return sorted(path.name for path in (self.folder / CHECKPOINTS_FOLDER).iterdir())


class Collecting:
    """A keeper that writes what it was given when all is over: by then the training has changed all that it has."""

    seconds_to_write = 0.0

    def __init__(self) -> None:
        self.kept: list[Checkpoint] = []
        self.last: Checkpoint | None = None

    def keep(self, checkpoint: Checkpoint, kind: Kind) -> None:
        self.kept.append(checkpoint)

    def write(self, root: Path) -> dict[int, Path]:
        """Write all checkpoints, and return their folders by step."""
        folders = {checkpoint.step: root / str(checkpoint.step) for checkpoint in self.kept}
        for checkpoint in self.kept:
            checkpoint.fill(_made(folders[checkpoint.step]))
        return folders


def validation(step: int) -> Validation:
    """Say of a step what `REWARDS` says."""
    reward = REWARDS.get(step, 0.5)
    return Validation(step=step, mean_reward=reward, by_task={"push": reward}, ground_truth={"push": {"all_kept": 0.5}})


def without_times(value: Any) -> Any:
    """Return a JSON document without what no input decides."""
    if isinstance(value, dict):
        return {name: without_times(item) for name, item in value.items() if not name.startswith(TIMINGS)}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
