from hypothesis import given
from hypothesis import strategies as st

from tasks.lineage.graph.graph import Edge, Graph, Node

keys = st.sampled_from("abcdefgh")
edges = st.lists(st.builds(Edge, keys, keys, st.sampled_from(["made", "read"])), max_size=20)


def graph_of(edges: list[Edge]) -> Graph:
    return Graph({key: Node(key, "artifact", key, {}) for key in "abcdefgh"}, tuple(edges))


@given(edges=edges, one=keys, other=keys)
def test_whatever_a_node_led_to_came_from_it(edges: list[Edge], one: str, other: str) -> None:
    graph = graph_of(edges)
    assert (other in graph.led_to(one)) == (one in graph.came_from(other))


@given(edges=edges, one=keys)
def test_a_node_reaches_the_next_ones_and_all_that_they_reach(edges: list[Edge], one: str) -> None:
    graph = graph_of(edges)
    following = {edge.target for edge in graph.after.get(one, ())} - {one}
    assert graph.led_to(one) == frozenset(following).union(*(graph.led_to(key) for key in following)) - {one}


@given(edges=edges, one=keys)
def test_the_part_around_a_node_has_the_same_before_and_after_it(edges: list[Edge], one: str) -> None:
    graph = graph_of(edges)
    part = graph.around(one)
    assert part.nodes.keys() == {one} | graph.came_from(one) | graph.led_to(one)
    assert (part.came_from(one), part.led_to(one)) == (graph.came_from(one), graph.led_to(one))
    assert {edge.source for edge in part.edges} | {edge.target for edge in part.edges} <= part.nodes.keys()
