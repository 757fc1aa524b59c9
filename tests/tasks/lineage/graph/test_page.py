from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.graph.page import render
from tasks.lineage.graph.walk import Lineage
from tests.tasks.lineage.small_world import TRAINED, World, make_world

HOSTILE = "<script>alert(1)</script>\"'&"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world") / "artifacts")


class Page(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def lineage_of(graph: Graph, subject: str) -> Lineage:
    return Lineage(subject, "artifact", (subject,), graph, {}, ())


def test_the_page_asks_for_nothing_and_runs_nothing(world: World) -> None:
    page = Page(render(world.walk(TRAINED.prompt_id)))
    assert not [tag for tag, _ in page.tags if tag in {"script", "link", "img", "iframe", "object"}]
    addresses = [
        value or "" for _, attributes in page.tags for name, value in attributes.items() if name in {"href", "src"}
    ]
    assert all(address.startswith("#") for address in addresses)


def test_every_text_is_escaped() -> None:
    node = Node(HOSTILE, HOSTILE, HOSTILE, {HOSTILE: HOSTILE})
    hostile = lineage_of(Graph({HOSTILE: node}, (Edge(HOSTILE, HOSTILE, HOSTILE),)), HOSTILE)
    text = render(replace(hostile, warnings=(HOSTILE,), rows={HOSTILE: (HOSTILE,)}))
    assert "<script" not in text
    assert "&lt;script&gt;" in text
