"""What happens beside the arithmetic of a real, small training: metrics and alarms."""

import math
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import GateRefused
from tests.tasks.train.kept_training import KeptTraining

pytestmark = pytest.mark.slow

WATCHED = {
    *("loss", "reward", "zero_variance", "entropy", "grad_norm", "step_time", "cost_usd"),
    *("clip_ratio/region_mean", "clip_ratio/low_mean", "clip_ratio/high_mean", "sampling/tokens_per_second"),
    *("completions/mean_length", "completions/clipped_ratio"),
    *("seconds/generation", "seconds/reward", "seconds/update"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> KeptTraining:
    training = KeptTraining(tmp_path_factory.mktemp("whole"))
    training.train()
    return training


def test_every_step_reports_all_that_somebody_watches(whole: KeptTraining) -> None:
    steps = dict(whole.reported("metrics"))
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
    assert whole.reported("progress")[-1][:2] == [4, 4]


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
