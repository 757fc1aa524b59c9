"""The champion that a challenger is compared with, trainings as the browser shows them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from flows.runtime.stores import open_recorder, open_registry, open_store
from flows.stages.evaluate import champion_for, logged_training
from flows.stages.runner import Session, StageResult
from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mlflow_tables")]


@dataclass(frozen=True)
class Shop:
    """A state folder with a base, and policies that are trained and judged as the test says."""

    config: Config

    @property
    def session(self) -> Session:
        return Session(self.config)

    def commit(self, kind: ArtifactKind, text: str, inputs: Mapping[str, str]) -> ArtifactRecord:
        store = open_store(self.config)
        with store.draft() as draft:
            (draft / "content").write_text(text, encoding="utf-8")
            return store.commit(draft, kind=kind, stage=kind, code_version="c", config_digest="d", inputs=inputs)

    def policy(self, name: str) -> ArtifactRecord:
        return self.commit("policy", name, {"base": self.commit("base", "base", {}).sha256})

    def judge(self, policy: ArtifactRecord, champion: ArtifactRecord | None, *, promoted: bool = True) -> None:
        """Register a policy with its evaluation, and give it the alias."""
        against = {"champion": champion.sha256} if champion else {}
        evaluation = self.commit("evaluation", f"of {policy.sha256}", against)
        registry, names = open_registry(self.config), self.config.promote
        with open_recorder(self.config).pipeline("run", {}) as run:
            version = registry.register(
                run,
                names.model_name,
                policy=policy,
                evaluation=evaluation,
                verdict="promote",
                metrics={},
                base_model=None,
                load_in_4bit=True,
            )
        if promoted:
            registry.promote(names.model_name, names.alias, names.previous_alias, version.version, promotion="p")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(load_config("local", [f"state.root={tmp_path}"]))


def test_a_challenger_is_compared_with_the_champion_also_after_it_took_its_place(shop: Shop) -> None:
    first, second = shop.policy("first"), shop.policy("second")
    assert champion_for(shop.session, first) is None
    shop.judge(first, None)
    # Itself it is not compared with.
    assert champion_for(shop.session, first) is None
    assert champion_for(shop.session, second) == first
    shop.judge(second, first)
    assert champion_for(shop.session, second) == first


def test_a_challenger_that_was_held_before_there_was_a_champion_is_compared_with_it_now(shop: Shop) -> None:
    held, later = shop.policy("held"), shop.policy("later")
    shop.judge(held, None, promoted=False)
    shop.judge(later, None)
    assert champion_for(shop.session, held) == later


def test_a_champion_whose_artifact_is_damaged_is_named_with_the_way_out(shop: Shop) -> None:
    first, second = shop.policy("first"), shop.policy("second")
    shop.judge(first, None)
    file = open_store(shop.config).path(first.sha256) / "content"
    file.chmod(0o644)
    file.write_text("altered", encoding="utf-8")
    with pytest.raises(InputError, match=r"was altered; .*evaluate\.against_champion=false"):
        champion_for(shop.session, second)


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
