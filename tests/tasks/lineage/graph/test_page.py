from dataclasses import replace

import pytest

from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.graph.page import render
from tasks.lineage.graph.walk import Lineage
from tests.page_elements import PageElements
from tests.tasks.lineage.small_world import TRAINED, World, make_world

HOSTILE = "<script>alert(1)</script>\"'&"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world") / "artifacts")


def lineage_of(graph: Graph, subject: str) -> Lineage:
    return Lineage(subject, "artifact", (subject,), graph, {}, ())


def test_the_page_asks_for_nothing_and_runs_nothing(world: World) -> None:
    page = PageElements(render(world.walk(TRAINED.prompt_id)))
    assert page.names.isdisjoint({"script", "link", "img", "iframe", "object"})
    assert page.active == []


def test_every_text_is_escaped() -> None:
    node = Node(HOSTILE, HOSTILE, HOSTILE, {HOSTILE: HOSTILE})
    hostile = lineage_of(Graph({HOSTILE: node}, (Edge(HOSTILE, HOSTILE, HOSTILE),)), HOSTILE)
    text = render(replace(hostile, warnings=(HOSTILE,), rows={HOSTILE: (HOSTILE,)}))
    assert "<script" not in text
    assert "&lt;script&gt;" in text
