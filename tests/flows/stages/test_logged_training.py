"""A training as the browser shows it: of one policy, or of one for each task, with the limits that it ran under."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from flows.stages.logged_training import logged_training
from flows.stages.runner import StageResult

VALIDATION = [
    {"step": 0, "mean_reward": 0.5, "by_task": {"push": 0.5}, "ground_truth": {}},
    {"step": 2, "mean_reward": 0.75, "by_task": {"push": 0.75}, "ground_truth": {}},
]


def write_training(folder: Path, zero_variance: float) -> None:
    (folder / "rollouts").mkdir(parents=True)
    for name in ("step-000021-000040.parquet", "step-000001-000020.parquet"):
        (folder / "rollouts" / name).touch()
    log = [{"step": step, "loss": 0.1, "zero_variance": zero_variance} for step in (1, 2)]
    (folder / "training.json").write_text(json.dumps({"validation": VALIDATION, "log": log}), encoding="utf-8")


def result(path: Path, **alarms: Any) -> StageResult:
    record = SimpleNamespace(config={"train": {"alarms": alarms}})
    return cast("StageResult", SimpleNamespace(path=path, record=record))


@pytest.mark.parametrize(("patience", "steps"), [(1, [1]), (2, [2]), (3, [])])
def test_alarms_follow_the_limits_that_the_training_ran_under(tmp_path: Path, patience: int, steps: list[int]) -> None:
    write_training(tmp_path, 1.0)
    found = logged_training(7, result(tmp_path, patience=patience))
    assert [alarm.step for alarm in found.alarms] == steps
    assert [log.name for log in found.logs] == ["step-000001-000020.parquet", "step-000021-000040.parquet"]
    assert found.validation == {0: {"push": 0.5}, 2: {"push": 0.75}}


def test_trainings_of_one_task_each_count_as_one(tmp_path: Path) -> None:
    for task, zero_variance in (("push", 1.0), ("churn", 0.0)):
        write_training(tmp_path / "tasks" / task, zero_variance)
    (tmp_path / "training.json").write_text(json.dumps({"validation": VALIDATION}), encoding="utf-8")
    found = logged_training(7, result(tmp_path, patience=1))
    assert [log.parents[1].name for log in found.logs] == ["churn", "churn", "push", "push"]
    assert [(alarm.step, alarm.name) for alarm in found.alarms] == [(1, "zero_variance")]
