"""Removal of what is marked: versions of any name, and what MLflow refuses is said and done by the next run."""

from pathlib import Path
from typing import Any

import pytest

from flows.runtime.session import EXPERIMENT, artifacts_folder, mlflow_store
from flows.stages.removal import mark_removed, remove
from schemas.config.config import Config
from schemas.config.profiles import load_config
from tasks.lineage.mlflow.client import open_client
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tasks.lineage.erase.forget import reached
from tasks.lineage.erase.forgetting import Forgetting
from tasks.lineage.erase.removal_plan import planned
from tasks.lineage.store.inventory import read_inventory
from tests.tasks.lineage.small_world import ANA, MODEL, World, make_world

pytestmark = pytest.mark.integration

OTHER_NAME = "outra-loja"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "artifacts")


@pytest.fixture
def config(world: World) -> Config:
    """A state folder whose registry has the world's policy under two names."""
    config = load_config("local", [f"state.root={world.root.parent}"])
    uri, files = mlflow_store(config.state)
    recorder, registry = Recorder(uri, files, EXPERIMENT), Registry(uri)
    with recorder.pipeline("p", {}) as pipeline, recorder.stage(pipeline, "train", {}, {}) as stage:
        for name in (MODEL, OTHER_NAME):
            registry.register(
                stage.run_id,
                name,
                policy=world.made["train"],
                evaluation=world.made["evaluate"],
                verdict="promote",
                metrics={},
                base_model=None,
                load_in_4bit=False,
            )
    return config


def marked(config: Config) -> Forgetting:
    inventory = read_inventory(artifacts_folder(config))
    return mark_removed(config, planned(inventory, reached(inventory, ANA), "s", config.digest()))


def registered(config: Config) -> set[str]:
    client: Any = open_client(mlflow_store(config.state)[0])
    return {version.name for version in client.search_model_versions()}


def test_versions_of_another_name_are_removed_and_named(config: Config) -> None:
    done = remove(config, marked(config))
    assert done.versions_removed == (f"{OTHER_NAME}/1", f"{MODEL}/1")
    assert registered(config) == set()
    assert done.missed == {"remove": ()}


def test_what_mlflow_refuses_is_no_traceback_and_is_done_by_the_next_run(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    def refuse(*_: object) -> None:
        raise MlflowException("a row of somebody")

    state = marked(config)
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "delete_model_version", refuse)
        done = remove(config, state)
    assert done.versions_removed == ()
    first, second = done.missed["remove"]
    assert "did not do as asked" in first
    assert "somebody" not in first
    assert f"{MODEL}/1 may still be registered" in second
    again = remove(config, done)
    assert again.missed == {"remove": ()}
    assert again.versions_removed == (f"{OTHER_NAME}/1", f"{MODEL}/1")
    assert registered(config) == set()


def test_a_mirror_and_shared_artifacts_that_are_not_there_are_not_taken_for_empty(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is not mounted, or relative to the folder in which the command was run before."""
    monkeypatch.chdir(tmp_path)
    places = {"mirror": "elsewhere/mirror", "artifacts": "elsewhere/artifacts"}
    away = config.model_copy(update={"state": config.state.model_copy(update=places)})
    state = marked(away)
    assert any("elsewhere/mirror" in sentence for sentence in state.unreached)
    assert any("elsewhere/artifacts" in sentence for sentence in remove(away, state).missed["remove"])
    assert not (tmp_path / "elsewhere").exists()
