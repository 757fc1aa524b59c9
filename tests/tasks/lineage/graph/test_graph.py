"""Graphs and their parts; versions and aliases without MLflow, compared with what MLflow says itself."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.lineage.graph.graph import Edge, Graph, Node, read_versions
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry, local_aliases
from tasks.lineage.store.artifacts import ArtifactStore
from tests.tasks.lineage.made import commit, register_policy
from tests.tasks.lineage.small_world import DECISION, MODEL, World, make_world

keys = st.sampled_from("abcdefgh")
edges = st.lists(st.builds(Edge, keys, keys, st.sampled_from(["made", "read"])), max_size=20)


def graph_of(edges: list[Edge]) -> Graph:
    return Graph({key: Node(key, "artifact", key, {}) for key in "abcdefgh"}, tuple(edges))


@given(edges=edges, one=keys, other=keys)
def test_all_that_a_node_led_to_came_from_it(edges: list[Edge], one: str, other: str) -> None:
    graph = graph_of(edges)
    assert (other in graph.led_to(one)) == (one in graph.came_from(other))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world") / "artifacts")


def test_a_version_has_every_promotion_of_it(tmp_path: Path) -> None:
    world = make_world(tmp_path / "artifacts")
    decision = {**DECISION, "forced": "sale"}
    forced = commit(
        ArtifactStore(world.root), "promotion", {"decision.json": decision}, world.made["promote"].inputs, stage="p"
    )
    (version,) = read_versions(world.inventory)
    assert (version.name, version.policy) == (f"{MODEL}/1", world.made["train"].sha256)
    assert {record.sha256 for record in version.promotions} == {world.made["promote"].sha256, forced.sha256}


@pytest.mark.integration
@pytest.mark.usefixtures("mlflow_tables")
def test_aliases_are_those_that_mlflow_knows(world: World, tmp_path: Path) -> None:
    uri, made = f"sqlite:///{tmp_path / 'mlflow.db'}", world.made
    recorder, registry = Recorder(uri, tmp_path / "artifacts", "lineage"), Registry(uri)
    with recorder.pipeline("retrain", {}) as pipeline, recorder.stage(pipeline, "train", {}, {}) as stage:
        stage.log_output(made["train"])
        register_policy(registry, stage.run_id, MODEL, made["train"], made["evaluate"])
    registry.promote(MODEL, "champion", "previous", "1", promotion=made["promote"].sha256)
    holder = registry.holder(MODEL, "champion")
    assert holder is not None
    assert local_aliases(uri, MODEL) == {"champion": holder.version}
