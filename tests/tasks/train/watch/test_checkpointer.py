"""A real, small training with its callbacks: metrics, alarms, and checkpoints from which it ends the same."""

import io
import json
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from transformers import TrainerCallback

from schemas.config.train import TrainConfig
from schemas.config.train_sections import AlarmsSection
from schemas.errors import GateRefused, InputError
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.checkpoint_manager import Checkpoint, Kind
from tasks.policy.child import Channel
from tasks.train.grpo import rollout_log
from tasks.train.grpo.rollout_log import ROLLOUTS_FOLDER, RolloutLog
from tasks.train.resume.adapter_files import adapter_config
from tasks.train.resume.lease import CHECKPOINTS_FOLDER, acquire_training
from tasks.train.resume.preemption import Preemption
from tasks.train.resume.state_files import write_state
from tasks.train.watch.alarms import Alarms, Validation
from tasks.train.watch.callbacks import watch
from tasks.train.watch.validation import Selection
from tests.cases import cases_of
from tests.tasks.train.small_request import TRAINING, request_of
from tests.tasks.train.small_training import RECIPE, prompt_rows, small_preference_trainer, small_trainer

pytestmark = pytest.mark.slow

QUIET = AlarmsSection(patience=1000)
REWARDS = {0: 0.3, 2: 0.4, 4: 0.6, 6: 0.5}
"""What validation says after a step; after others 0.5."""
TIMINGS = ("seconds/", "step_time", "sampling/tokens_per_second", "train_", "cost_usd")


class KeptTraining:
    """A training that is to run in a folder, put together as the child puts it together."""

    def __init__(self, folder: Path, **recipe: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.stream = io.StringIO()
        self.channel = Channel(self.stream)
        self.preemption = Preemption(25)
        settings = {name: value for name, value in recipe.items() if name != "rows"}
        self.config = TrainConfig.model_validate({**RECIPE, "price_per_hour": 7200.0, **settings})
        self.request = request_of(self.config, folder, folder / "mirror")
        self.alarms = Alarms(QUIET, self.config.iterations)
        self.selection = Selection(validation, every=2, patience=9)
        self.files: RolloutLog | None = None
        self.parts: dict[str, Any] = {}
        if self.config.algorithm == "dpo":
            self.trainer = small_preference_trainer(folder / "work", **recipe)
        else:
            self.files = RolloutLog(folder / ROLLOUTS_FOLDER, seed=5)
            self.trainer = small_trainer(folder / "work", on_rollouts=self.files.add, **recipe)
            self.parts = {"sampling": self.trainer, ROLLOUTS_FOLDER: self.files}

    def keep_with(self, keeper: Any, *last: TrainerCallback) -> None:
        """Let a keeper have the checkpoints; `last` are called after everything else."""
        self.keeper = keeper
        self.checkpointer = watch(
            self.trainer, self.parts, self.selection, self.alarms, keeper, self.preemption, self.config, self.channel
        )
        for callback in last:
            self.trainer.add_callback(callback)

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


# AdamW's state has 8 bits where a tensor has 4,096 numbers or more: rank 128 x width 32.
RECIPES: dict[str, dict[str, Any]] = cases_of(__file__)["RECIPES"]


@pytest.fixture(autouse=True, scope="module")
def two_steps_a_file() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollout_log, "STEPS_PER_FILE", 2)
        yield


def _training(folder: Path, name: str, **changes: Any) -> KeptTraining:
    """Return a training of six steps that is kept after each."""
    rows = {} if name == "DPO" else {"rows": prompt_rows(each=2)}
    return KeptTraining(folder, **{"max_steps": 6, "save_every": 1, **RECIPES[name], **changes, **rows})


class Whole:
    """An uninterrupted training, and the checkpoints of its every step."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.training = _training(folder / "whole", name)
        keeper = Collecting()
        self.training.keep_with(keeper)
        self.training.resume(None)
        self.checkpoints = keeper.write(folder / "checkpoints")
        self.end = self.training.end_state(folder / "end")


@pytest.fixture(scope="module", params=RECIPES)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return Whole(request.param, tmp_path_factory.mktemp("whole"))


def test_a_training_that_is_resumed_ends_as_the_uninterrupted_one(whole: Whole, tmp_path: Path) -> None:
    """Six steps of two prompts are three rounds of four, where TRL's own sampler would replay epoch 0."""
    resumed = _training(tmp_path / "resumed", whole.name)
    resumed.keep_with(Collecting())
    resumed.resume(whole.checkpoints[3])
    end = resumed.end_state(tmp_path / "end")
    assert end.keys() == whole.end.keys()
    assert [name for name in end if end[name] != whole.end[name]] == []
    # The best adapter of a checkpoint is no second adapter of the policy.
    assert list(resumed.trainer.model.peft_config) == ["default"]


def test_every_nth_and_every_better_step_is_mirrored(tmp_path: Path) -> None:
    """Of the validations, those of steps 2 and 4 are better than all before them, and that of the last is not."""
    training = KeptTraining(tmp_path, max_steps=6, save_every=5, keep_checkpoints=9)
    training.train(WaitForMirror(training))
    assert training.mirrored() == [6, 5, 4, 2]
    assert training.held.mirror.pins() == {"best": training.held.mirror.manifests()[2].name}
    assert [manifest.metrics for manifest in training.held.mirror.manifests()] == [
        {"reward": 0.5},
        {},
        {"reward": 0.6},
        {"reward": 0.4},
    ]


def test_a_full_disk_ends_training_without_half_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = KeptTraining(tmp_path, save_every=1)

    def fill_the_disk(folder: Path, name: str, state: Any) -> None:
        write_state(folder, name, state)
        if name == "optimizer" and training.trainer.state.global_step > 1:
            Path("/dev/full").write_bytes(b"weights")

    monkeypatch.setattr("tasks.train.watch.callbacks.write_state", fill_the_disk)
    with pytest.raises(InputError) as ended:
        training.train(WaitForMirror(training))
    assert re.fullmatch(
        r"the checkpoint of step 2 cannot be written to \S+/checkpoints \(No space left on device\); "
        r"free space or permissions there, and run the same command again",
        str(ended.value),
    )
    assert training.on_disk() == ["checkpoint-00000001-00000001"]
    assert training.mirrored() == [1]
    monkeypatch.undo()
    again = KeptTraining(tmp_path, save_every=1)
    again.train()
    assert again.held.step == 1


WATCHED = {
    *("loss", "reward", "zero_variance", "entropy", "grad_norm", "step_time", "cost_usd"),
    *("clip_ratio/region_mean", "clip_ratio/low_mean", "clip_ratio/high_mean", "sampling/tokens_per_second"),
    *("completions/mean_length", "completions/clipped_ratio"),
    *("seconds/generation", "seconds/reward", "seconds/update"),
}


def test_every_step_reports_all_that_somebody_watches(tmp_path: Path) -> None:
    training = KeptTraining(tmp_path)
    training.train()
    steps = dict(training.reported("metrics"))
    assert list(steps) == [1, 2, 3, 4]
    for values in steps.values():
        assert values.keys() >= WATCHED
        tasks = {name.removeprefix("reward/") for name in values if name.startswith("reward/")}
        assert tasks
        for task in tasks:
            assert f"zero_variance/{task}" in values
            assert any(name.startswith(f"rewards/{task}.") and name.endswith("/mean") for name in values)
        # Every task has a weight, also one that the step has no prompt of.
        assert {"task_share/push", "task_share/sentiment"} <= values.keys()
    assert training.reported("progress")[-1][:2] == [4, 4]


def test_weights_that_are_no_numbers_stop_the_training(tmp_path: Path) -> None:
    training = KeptTraining(tmp_path, save_every=1)
    compute = training.trainer._compute_loss

    def break_at_the_second(*arguments: Any) -> Any:
        loss = compute(*arguments)
        return loss * (math.nan if training.trainer.state.global_step == 1 else 1.0)

    training.trainer._compute_loss = break_at_the_second
    training.train()
    assert [(name, step) for name, step, _ in training.reported("alarm")] == [("non_finite", 2)]
    assert training.trainer.state.global_step == 2
    # What a machine that is taken away would mirror at last.
    assert training.keeper.last is not None
    assert training.keeper.last.step == 1
    assert training.mirrored() == [1]
    assert training.on_disk() == ["checkpoint-00000001-00000001"]
    with pytest.raises(GateRefused, match=r"the newest of step 1: the loss of step 2 was nan"):
        training.alarms.require_none_stopped(training.held.keeper.newest_step)


class WaitForMirror(TrainerCallback):  # type: ignore[misc]
    """Takes no step before the one before it is mirrored, or could not be: no checkpoint overtakes another."""

    def __init__(self, training: KeptTraining) -> None:
        self._training = training

    def on_save(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        with suppress(InputError):
            self._training.held.keeper.flush()
