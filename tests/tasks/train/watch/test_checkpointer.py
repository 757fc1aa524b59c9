"""A real, small training with its callbacks: metrics, alarms, and checkpoints from which it ends the same."""

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from transformers import TrainerCallback

from schemas.errors import GateRefused, InputError
from tasks.train.grpo import rollout_log
from tasks.train.resume.state_files import write_state
from tests.tasks.train.kept_training import Collecting, KeptTraining
from tests.tasks.train.small_training import prompt_rows

pytestmark = pytest.mark.slow

RECIPES: dict[str, dict[str, Any]] = {
    "with everything that has a state": {
        "dynamic_sampling": {"extra_groups": 2, "min_spread": 0.003},
        "guided_correction": {"share": 0.5},
        "task_weights": {"applies_to": "sampler", "every": 2},
        "entropy": {"coefficient": 0.001, "adaptive": True, "target": 9.0},
        "schedule": "constant_with_warmup",
        "warmup_share": 0.5,
        "max_completion_tokens": 32,
    },
    "guided, and two steps on the same completions": {
        "guided": "all",
        "iterations": 2,
        "accumulation": 2,
        "guided_correction": {"share": 0.5},
        "max_completion_tokens": 48,
    },
    # A state has 8 bits where a tensor has 4,096 numbers or more: rank 128 x width 32.
    "NF4 and AdamW in 8 bits": {
        "load_in_4bit": True,
        "optimizer": {"name": "adamw_8bit"},
        "lora": {"rank": 128, "alpha": 8},
    },
    "DPO": {"algorithm": "dpo", "prompts_per_step": 1, "generations": 4},
}


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
