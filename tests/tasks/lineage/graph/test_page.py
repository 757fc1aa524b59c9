from dataclasses import replace

from tasks.lineage.graph.graph import Edge
from tasks.lineage.graph.page import render
from tests.page_elements import PageElements
from tests.tasks.lineage.small_world import TRAINED, World

HOSTILE = "<script>alert(1)</script>\"'&"


def test_the_page_asks_for_nothing_and_every_text_is_escaped(world: World) -> None:
    walked = world.walk(TRAINED.prompt_id)
    (subject,) = walked.subjects
    nodes = {
        **walked.graph.nodes,
        HOSTILE: replace(walked.graph.nodes[subject], name=HOSTILE, facts={HOSTILE: HOSTILE}),
    }
    graph = replace(walked.graph, nodes=nodes, edges=(*walked.graph.edges, Edge(HOSTILE, subject, HOSTILE)))
    text = render(replace(walked, graph=graph, warnings=(HOSTILE,), rows={HOSTILE: (HOSTILE,)}))
    page = PageElements(text)
    assert page.names.isdisjoint({"script", "link", "img", "iframe", "object"})
    assert page.active == []
    assert "&lt;script&gt;" in text
