"""What happens beside the arithmetic of a real, small training: metrics and alarms."""

import io
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.config.train_sections import AlarmsSection
from schemas.errors import GateRefused
from tasks.policy.child import Channel
from tasks.train.resume.lease import CHECKPOINTS_FOLDER
from tasks.train.resume.state_files import read_state
from tasks.train.watch.alarms import Alarms, Validation
from tasks.train.watch.reporter import StepReporter
from tests.tasks.train.kept_training import KeptTraining

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> KeptTraining:
    training = KeptTraining(tmp_path_factory.mktemp("whole"))
    training.train()
    return training


def test_every_step_reports_all_that_somebody_watches(whole: KeptTraining) -> None:
    steps = dict(whole.reported("metrics"))
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
    assert whole.reported("progress")[-1][:2] == [4, 4]


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


def test_an_alarm_that_stops_keeps_a_checkpoint_of_its_step_and_refuses_again_until_it_is_taken_out(
    tmp_path: Path,
) -> None:
    """Also between two steps on the same completions."""
    iterations = 2
    section = AlarmsSection(patience=1, max_ceiling_share=0.01, stop_on=("ceiling",))
    stopped = KeptTraining(tmp_path, alarms=section, iterations=iterations, save_every=100)
    stopped.train()
    assert stopped.trainer.state.global_step == 1
    assert ["ceiling", 1] in [message[:2] for message in stopped.reported("alarm")]
    assert stopped.mirrored() == [1]
    with pytest.raises(GateRefused, match=r"alarm ceiling stopped the training, .* the newest of step 1: .* step 1 "):
        stopped.alarms.require_none_stopped(1)

    (checkpoint,) = (stopped.folder / CHECKPOINTS_FOLDER).iterdir()
    again = Alarms(section)
    again.load_state_dict(read_state(checkpoint, "alarms"))
    with pytest.raises(GateRefused, match="the newest of step 1"):
        again.require_none_stopped(1)

    shown = KeptTraining(tmp_path, alarms=section.model_copy(update={"stop_on": ()}), iterations=iterations)
    shown.train()
    assert shown.held.step == 1
    assert shown.trainer.state.global_step == 4
    shown.alarms.require_none_stopped(4)


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


def test_a_validation_is_watched_at_its_own_step_and_once(tmp_path: Path) -> None:
    """Reward up and ground truth down, in both validations that follow step 0."""
    training = KeptTraining(tmp_path, alarms=AlarmsSection(patience=1000, hacking_patience=2))
    training.selection._score = lambda step: Validation(
        step=step, mean_reward=0.5, by_task={"push": step / 10}, ground_truth={"push": {"all_kept": 1 - step / 10}}
    )
    training.train()
    assert [(name, step) for name, step, _ in training.reported("alarm")] == [("reward_hacking", 4)]
