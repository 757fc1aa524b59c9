"""Provenance graph of artifacts, rows, checkpoints and models, and its subgraphs."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Node:
    """Entity with an origin."""

    key: str
    """Its name in the graph."""
    kind: str
    """An artifact's kind, or a name such as `version`, `checkpoint`, `prompt` and `review`."""
    name: str
    """Display name."""
    facts: Mapping[str, str]
    """Facts in display order; never a text of a shopper."""


@dataclass(frozen=True)
class Edge:
    """Derivation of one entity from another."""

    source: str
    """Key of the input."""
    target: str
    """Key of the output."""
    role: str
    """Role of the input."""


@dataclass(frozen=True)
class Graph:
    """Nodes by key, and derivations; an edge may name a node of a graph that is joined later."""

    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]

    @cached_property
    def before(self) -> Mapping[str, tuple[Edge, ...]]:
        """Return the incoming edges of each node, from its inputs."""
        return _by((edge.target, edge) for edge in self.edges)

    @cached_property
    def after(self) -> Mapping[str, tuple[Edge, ...]]:
        """Return the outgoing edges of each node, to its outputs."""
        return _by((edge.source, edge) for edge in self.edges)

    def came_from(self, *keys: str) -> frozenset[str]:
        """Return the keys of all direct and indirect inputs of some nodes, without themselves."""
        return self._reach(keys, {key: [edge.source for edge in edges] for key, edges in self.before.items()})

    def led_to(self, *keys: str) -> frozenset[str]:
        """Return the keys of all direct and indirect outputs of some nodes, without themselves."""
        return self._reach(keys, {key: [edge.target for edge in edges] for key, edges in self.after.items()})

    def around(self, *keys: str) -> "Graph":
        """Return the subgraph of some nodes with all their inputs and outputs."""
        return self.part({*keys, *self.came_from(*keys), *self.led_to(*keys)})

    def part(self, keys: Iterable[str]) -> "Graph":
        """Return some nodes and the edges among them."""
        kept = {key for key in keys if key in self.nodes}
        return Graph(
            {key: node for key, node in self.nodes.items() if key in kept},
            tuple(edge for edge in self.edges if edge.source in kept and edge.target in kept),
        )

    def joined(self, other: "Graph") -> "Graph":
        """Return both graphs as one; the other's version of a shared node is kept."""
        return Graph({**self.nodes, **other.nodes}, tuple(dict.fromkeys((*self.edges, *other.edges))))

    def document(self) -> dict[str, Any]:
        """Return the graph as one JSON document."""
        return {
            "nodes": [asdict(node) for node in self.nodes.values()],
            "edges": [asdict(edge) for edge in self.edges],
        }

    def _reach(self, keys: Iterable[str], steps: Mapping[str, Iterable[str]]) -> frozenset[str]:
        start = set(keys)
        seen, waiting = set(start), deque(start)
        while waiting:
            for key in steps.get(waiting.popleft(), ()):
                if key not in seen:
                    seen.add(key)
                    waiting.append(key)
        return frozenset(seen - start)


def _by(pairs: Iterable[tuple[str, Edge]]) -> Mapping[str, tuple[Edge, ...]]:
    grouped: dict[str, list[Edge]] = {}
    for key, edge in pairs:
        grouped.setdefault(key, []).append(edge)
    return {key: tuple(edges) for key, edges in grouped.items()}
