"""The champion that a challenger is compared with, and trainings as the browser shows them."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from flows.stages.evaluate import champion_for, logged_training
from flows.stages.runner import StageResult
from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.config.profiles import load_config
from schemas.errors import InputError
from tasks.lineage.store.artifacts import ArtifactStore
from tests.tasks.lineage.made import commit


class Shop:
    """A store of policies and evaluations, and a registry in memory: stands for the run's session."""

    def __init__(self, folder: Path) -> None:
        self.store, self.registry, self.config = ArtifactStore(folder), self, load_config("local")
        self.registered: list[Any] = []
        self.champion: Any = None

    def holder(self, _model: str, _alias: str) -> Any:
        return self.champion

    def versions(self, _model: str) -> list[Any]:
        return self.registered

    def commit(self, kind: ArtifactKind, text: str, **inputs: str) -> ArtifactRecord:
        return commit(self.store, kind, {"content": text}, inputs)

    def judge(self, policy: ArtifactRecord, *, promoted: bool = True, **against: str) -> None:
        """Register a policy with its evaluation, and give it the alias."""
        evaluation = self.commit("evaluation", f"of {policy.sha256}", **against)
        version = SimpleNamespace(version="1", policy=policy.sha256, evaluation=evaluation.sha256)
        self.registered.append(version)
        self.champion = version if promoted else self.champion


def champion(shop: Any, challenger: ArtifactRecord) -> ArtifactRecord | None:
    return champion_for(shop, challenger)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_a_challenger_is_compared_with_the_champion_also_after_it_took_its_place(shop: Shop) -> None:
    first, second = shop.commit("policy", "first"), shop.commit("policy", "second")
    assert champion(shop, first) is None
    shop.judge(first)
    # Itself it is not compared with.
    assert champion(shop, first) is None
    assert champion(shop, second) == first
    shop.judge(second, champion=first.sha256)
    assert champion(shop, second) == first


def test_a_challenger_that_was_held_before_there_was_a_champion_is_compared_with_it_now(shop: Shop) -> None:
    held, later = shop.commit("policy", "held"), shop.commit("policy", "later")
    shop.judge(held, promoted=False)
    shop.judge(later)
    assert champion(shop, held) == later


def test_a_champion_whose_artifact_is_damaged_is_named_with_the_way_out(shop: Shop) -> None:
    first, second = shop.commit("policy", "first"), shop.commit("policy", "second")
    shop.judge(first)
    file = shop.store.path(first.sha256) / "content"
    file.chmod(0o644)
    file.write_text("altered", encoding="utf-8")
    with pytest.raises(InputError, match=r"was altered; .*evaluate\.against_champion=false"):
        champion(shop, second)


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
