"""What happens beside the arithmetic of a real, small training: metrics, alarms, checkpoints that resume."""

import io
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import TrainerCallback

from schemas.errors import GateRefused
from schemas.train_config import AlarmsSection
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.mirror import Mirror
from tasks.policy.child import Channel
from tasks.train.alarms import Alarms
from tasks.train.callbacks import AlarmWatch, Publisher, StepReporter
from tasks.train.rollout_log import ROLLOUTS_FOLDER, RolloutLog
from tasks.train.validation import Selection, Validation
from tests.tasks.train.small_training import adapter_weights, small_trainer

QUIET = AlarmsSection(patience=1000)


class Training:
    """A training with all that watches it, put together as the child puts it together."""

    def __init__(self, folder: Path, alarms: AlarmsSection = QUIET, mirror: Path | None = None, **recipe: Any) -> None:
        folder.mkdir()
        self.stream = io.StringIO()
        self.folder = folder
        self.mirror: Mirror = open_mirror(str(mirror or folder / "mirror"), "training")
        channel = Channel(self.stream)
        self.alarms = Alarms(alarms, recipe.get("iterations", 1))
        self.selection = Selection(_validation, folder, every=2, patience=9)
        self.rollouts = RolloutLog(folder / ROLLOUTS_FOLDER, seed=5)
        self.trainer = small_trainer(
            folder,
            on_rollouts=self.rollouts.add,
            callbacks=[
                self.selection,
                AlarmWatch(self.alarms, self.selection, channel),
                StepReporter(channel, recipe.get("max_steps", 4), price_per_hour=7200.0),
            ],
            **recipe,
        )
        parts = [self.selection, self.alarms, self.rollouts, self.trainer]
        self.publisher = Publisher(self.mirror, parts, keep=3)
        self.trainer.add_callback(self.publisher)

    def resume(self) -> None:
        """Go on from the newest mirrored checkpoint."""
        manifest = self.mirror.newest()
        assert manifest is not None
        checkpoint = self.folder / f"checkpoint-{manifest.step}"
        self.mirror.restore(manifest, checkpoint)
        self.publisher.restore(checkpoint, manifest.step)
        self.trainer.train(resume_from_checkpoint=str(checkpoint))

    def told(self, kind: str) -> list[Any]:
        """Return the messages of one kind that the child sent."""
        messages = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        return [message[kind] for message in messages if kind in message]

    def published(self) -> list[str]:
        return sorted(path.stem.lstrip("0") for path in self.folder.rglob("manifests/*.json"))


def _validation(step: int) -> Validation:
    return Validation(step=step, mean_reward=0.5, by_task={"push": 0.5}, ground_truth={"push": {"all_kept": 0.5}})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Training:
    training = Training(tmp_path_factory.mktemp("whole") / "work")
    training.trainer.train()
    return training


def test_every_step_reports_all_that_somebody_watches(whole: Training) -> None:
    steps = dict(whole.told("metrics"))
    assert list(steps) == [1, 2, 3, 4]
    for values in steps.values():
        assert {
            "loss",
            "reward",
            "zero_variance",
            "entropy",
            "clip_ratio/region_mean",
            "clip_ratio/low_mean",
            "clip_ratio/high_mean",
            "completions/mean_length",
            "completions/clipped_ratio",
            "grad_norm",
            "step_time",
            "seconds/generation",
            "seconds/reward",
            "seconds/update",
            "sampling/tokens_per_second",
            "cost_usd",
        } <= values.keys()
        tasks = {name.removeprefix("reward/") for name in values if name.startswith("reward/")}
        assert tasks
        for task in tasks:
            assert f"zero_variance/{task}" in values
            assert any(name.startswith(f"rewards/{task}.") and name.endswith("/mean") for name in values)
        # Every task has a weight, also one that the step has no prompt of.
        assert {"task_share/push", "task_share/sentiment"} <= values.keys()
    assert whole.told("progress")[-1][:2] == [4, 4]


def test_metrics_are_numbers_under_names_that_mlflow_takes(whole: Training) -> None:
    for _, values in whole.told("metrics"):
        assert all(math.isfinite(value) for value in values.values())
        assert all(re.fullmatch(r"[\w./\- :]+", name) for name in values)
        # Components of tasks that the step has no prompt of have no mean.
        assert not any(name.startswith("rewards/churn.") for name in values)


def test_a_kl_penalty_is_reported_where_there_is_one(tmp_path: Path) -> None:
    training = Training(tmp_path / "work", beta=0.1, max_steps=1)
    training.trainer.train()
    assert "kl" in training.told("metrics")[0][1]


def test_a_second_step_on_the_same_completions_is_reported_too(tmp_path: Path) -> None:
    """It samples nothing and so has no reward, and it is the only one in which anything can be clipped."""
    training = Training(tmp_path / "work", iterations=2, max_steps=2)
    training.trainer.train()
    first, second = (values for _, values in training.told("metrics"))
    assert "reward" in first
    assert "reward" not in second
    assert {"entropy", "clip_ratio/region_mean", "grad_norm"} <= second.keys()
    assert training.told("progress")[1][2].startswith("loss ")


def test_the_cost_is_that_of_all_steps_so_far_also_of_those_before_a_resume() -> None:
    stream = io.StringIO()
    reporter = StepReporter(Channel(stream), 3, price_per_hour=36.0)
    state: Any = SimpleNamespace(
        global_step=3,
        log_history=[{"step_time": 10.0}, {"train_runtime": 5.0}, {"step_time": None}, {"step_time": 2.5}],
    )
    reporter.on_log(None, state, None, {"loss": math.nan, "reward": 0.5, "kl": None, "step_time": 2.5})
    assert json.loads(stream.getvalue().splitlines()[0]) == {
        "metrics": [3, {"reward": 0.5, "step_time": 2.5, "cost_usd": pytest.approx(12.5 * 36 / 3600)}]
    }


def test_a_resumed_training_is_the_uninterrupted_one_in_weights_rollouts_and_choice(
    whole: Training, tmp_path: Path
) -> None:
    before = Training(tmp_path / "before", mirror=tmp_path / "mirror")
    before.trainer.add_callback(StopAfter(3))
    before.trainer.train()
    after = Training(tmp_path / "after", mirror=tmp_path / "mirror")
    after.resume()
    weights, wanted = adapter_weights(after.trainer), adapter_weights(whole.trainer)
    assert all(torch.equal(weights[name], wanted[name]) for name in wanted)
    # The best adapter of a checkpoint is no second adapter of the policy.
    assert list(after.trainer.model.peft_config) == ["default"]
    assert after.selection.history == whole.selection.history
    assert _logged(after) == _logged(whole)
    assert list(_logged(whole)) == ["step-000001-000002.parquet", "step-000003-000004.parquet"]


def test_an_alarm_that_stops_keeps_a_checkpoint_of_its_step_and_refuses_again_until_it_is_taken_out(
    tmp_path: Path,
) -> None:
    section = AlarmsSection(patience=1, max_ceiling_share=0.01, stop_on=("ceiling",))
    mirror = tmp_path / "mirror"
    stopped = Training(tmp_path / "stopped", section, mirror)
    stopped.trainer.train()
    assert stopped.trainer.state.global_step == 1
    assert ["ceiling", 1] in [message[:2] for message in stopped.told("alarm")]
    with pytest.raises(GateRefused, match=r"alarm ceiling stopped the training, .* the newest of step 1: .* step 1 "):
        stopped.alarms.require_none_stopped(stopped.publisher.newest)

    again = Training(tmp_path / "again", section, mirror)
    manifest = again.mirror.newest()
    assert manifest is not None
    again.mirror.restore(manifest, tmp_path / "checkpoint")
    again.publisher.restore(tmp_path / "checkpoint", manifest.step)
    with pytest.raises(GateRefused, match="the newest of step 1"):
        again.alarms.require_none_stopped(again.publisher.newest)

    shown = Training(tmp_path / "shown", section.model_copy(update={"stop_on": ()}), mirror)
    shown.resume()
    assert shown.trainer.state.global_step == 4
    shown.alarms.require_none_stopped(shown.publisher.newest)


def test_no_checkpoint_is_made_between_two_steps_on_the_same_completions(tmp_path: Path) -> None:
    section = AlarmsSection(patience=1, max_ceiling_share=0.01, stop_on=("ceiling",))
    training = Training(tmp_path / "work", section, iterations=2)
    training.trainer.train()
    assert training.trainer.state.global_step == 1
    assert training.published() == []


def test_weights_that_are_no_numbers_stop_the_training_and_are_never_published(tmp_path: Path) -> None:
    training = Training(tmp_path / "work", save_every=1)
    compute = training.trainer._compute_loss

    def break_at_the_second(*arguments: Any) -> Any:
        loss = compute(*arguments)
        return loss * (math.nan if training.trainer.state.global_step == 1 else 1.0)

    training.trainer._compute_loss = break_at_the_second
    training.trainer.train()
    assert [(name, step) for name, step, _ in training.told("alarm")] == [("non_finite", 2)]
    assert training.trainer.state.global_step == 2
    assert training.published() == ["1"]
    with pytest.raises(GateRefused, match=r"the newest of step 1: the loss of step 2 was nan"):
        training.alarms.require_none_stopped(training.publisher.newest)


def test_a_validation_is_watched_at_its_own_step_and_once(tmp_path: Path) -> None:
    """Reward up and ground truth down, in both validations that follow step 0."""
    training = Training(tmp_path / "work", AlarmsSection(patience=1000, hacking_patience=2))
    training.selection._score = lambda step: Validation(
        step=step, mean_reward=0.5, by_task={"push": step / 10}, ground_truth={"push": {"all_kept": 1 - step / 10}}
    )
    training.trainer.train()
    assert [(name, step) for name, step, _ in training.told("alarm")] == [("reward_hacking", 4)]


def _logged(training: Training) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((training.folder / ROLLOUTS_FOLDER).iterdir())}


class StopAfter(TrainerCallback):  # type: ignore[misc]
    """Stands for a preemption: nothing is saved of the step."""

    def __init__(self, step: int) -> None:
        self._step = step

    def on_log(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        control.should_training_stop = state.global_step >= self._step
