"""Provenance graph of artifacts, rows, checkpoints and models, and its subgraphs."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Node:
    """Entity with an origin."""

    key: str
    kind: str
    """An artifact's kind, or a name such as `version`, `checkpoint`, `prompt` and `review`."""
    name: str
    facts: Mapping[str, str]
    """Facts in display order; never a text of a shopper."""


@dataclass(frozen=True)
class Edge:
    """Derivation of one entity from another, in a role, by their keys."""

    source: str
    target: str
    role: str


@dataclass(frozen=True)
class Graph:
    """Nodes by key, and derivations; an edge may name a node of a graph that is joined later."""

    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]

    @cached_property
    def before(self) -> Mapping[str, list[Edge]]:
        """Return the incoming edges of each node, from its inputs."""
        grouped: dict[str, list[Edge]] = {}
        for edge in self.edges:
            grouped.setdefault(edge.target, []).append(edge)
        return grouped

    @cached_property
    def after(self) -> Mapping[str, list[Edge]]:
        """Return the outgoing edges of each node, to its outputs."""
        grouped: dict[str, list[Edge]] = {}
        for edge in self.edges:
            grouped.setdefault(edge.source, []).append(edge)
        return grouped

    def came_from(self, *keys: str) -> frozenset[str]:
        """Return the keys of all direct and indirect inputs of some nodes, without themselves."""
        return _reached(keys, {key: [edge.source for edge in edges] for key, edges in self.before.items()})

    def led_to(self, *keys: str) -> frozenset[str]:
        """Return the keys of all direct and indirect outputs of some nodes, without themselves."""
        return _reached(keys, {key: [edge.target for edge in edges] for key, edges in self.after.items()})

    def around(self, *keys: str) -> "Graph":
        """Return the subgraph of some nodes with all their inputs and outputs."""
        return self.part({*keys, *self.came_from(*keys), *self.led_to(*keys)})

    def part(self, keys: Iterable[str]) -> "Graph":
        """Return some nodes and the edges among them."""
        kept = set(keys)
        nodes = {key: node for key, node in self.nodes.items() if key in kept}
        return Graph(nodes, tuple(edge for edge in self.edges if edge.source in nodes and edge.target in nodes))

    def joined(self, other: "Graph") -> "Graph":
        """Return both graphs as one; the other's version of a shared node is kept."""
        return Graph({**self.nodes, **other.nodes}, tuple(dict.fromkeys((*self.edges, *other.edges))))

    def document(self) -> dict[str, Any]:
        """Return the graph as one JSON document."""
        return {"nodes": list(map(asdict, self.nodes.values())), "edges": list(map(asdict, self.edges))}


def _reached(keys: Iterable[str], steps: Mapping[str, Iterable[str]]) -> frozenset[str]:
    start = frozenset(keys)
    seen, waiting = set(start), list(start)
    while waiting:
        new = set(steps.get(waiting.pop(), ())) - seen
        seen |= new
        waiting += new
    return frozenset(seen - start)
