"""What came from what: a graph of artifacts, rows, checkpoints and models, and the part of it around any of them."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Node:
    """One thing that has an origin."""

    key: str
    """Its name in the graph."""
    kind: str
    """An artifact's kind, or such as `version`, `checkpoint`, `prompt` and `review`."""
    name: str
    """What it is called where it is shown."""
    facts: Mapping[str, str]
    """What is known of it, in the order in which it is shown; never a text of a shopper."""


@dataclass(frozen=True)
class Edge:
    """That one thing came from another."""

    source: str
    """The key of what was there before."""
    target: str
    """The key of what was made of it."""
    role: str
    """What the one was for the other."""


@dataclass(frozen=True)
class Graph:
    """Nodes by their keys, and which came from which; an edge may name a node of a graph that it is to be joined to."""

    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]

    @cached_property
    def before(self) -> Mapping[str, tuple[Edge, ...]]:
        """The edges to each node from what it was made of."""
        return _by((edge.target, edge) for edge in self.edges)

    @cached_property
    def after(self) -> Mapping[str, tuple[Edge, ...]]:
        """The edges from each node to what was made of it."""
        return _by((edge.source, edge) for edge in self.edges)

    def came_from(self, *keys: str) -> frozenset[str]:
        """Return the keys of all that some nodes were made of, at any distance, without themselves."""
        return self._reach(keys, {key: [edge.source for edge in edges] for key, edges in self.before.items()})

    def led_to(self, *keys: str) -> frozenset[str]:
        """Return the keys of all that was made of some nodes, at any distance, without themselves."""
        return self._reach(keys, {key: [edge.target for edge in edges] for key, edges in self.after.items()})

    def around(self, *keys: str) -> "Graph":
        """Return the part that some nodes came from and led to, with them in it."""
        return self.part({*keys, *self.came_from(*keys), *self.led_to(*keys)})

    def part(self, keys: Iterable[str]) -> "Graph":
        """Return some nodes and the edges among them."""
        kept = {key for key in keys if key in self.nodes}
        return Graph(
            {key: node for key, node in self.nodes.items() if key in kept},
            tuple(edge for edge in self.edges if edge.source in kept and edge.target in kept),
        )

    def joined(self, other: "Graph") -> "Graph":
        """Return both graphs as one; what both know of a node is what the other says."""
        return Graph({**self.nodes, **other.nodes}, tuple(dict.fromkeys((*self.edges, *other.edges))))

    def document(self) -> dict[str, Any]:
        """Return it as it stands in one JSON document."""
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
