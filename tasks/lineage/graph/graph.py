"""Provenance graph of artifacts, rows, trainings and model versions, and its subgraphs; no MLflow is asked."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

from schemas.artifact import ArtifactRecord
from tasks.lineage.store.inventory import Inventory

DECISION_FILE: Final = "decision.json"
"""File of a promotion: the model, the version, and the decision."""


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
        return _grouped((edge.target, edge) for edge in self.edges)

    @cached_property
    def after(self) -> Mapping[str, list[Edge]]:
        """Return the outgoing edges of each node, to its outputs."""
        return _grouped((edge.source, edge) for edge in self.edges)

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


def _grouped(pairs: Iterable[tuple[str, Edge]]) -> dict[str, list[Edge]]:
    found: dict[str, list[Edge]] = {}
    for key, edge in pairs:
        found.setdefault(key, []).append(edge)
    return found


@dataclass(frozen=True)
class ModelVersion:
    """Version of a registered model."""

    model: str
    number: str
    policy: str
    promotions: tuple[ArtifactRecord, ...]
    """The promotions that registered it or recorded a person's later decision, the oldest first."""

    @property
    def key(self) -> str:
        """Return its key in a graph."""
        return f"version:{self.name}"

    @property
    def name(self) -> str:
        """Return its display name."""
        return f"{self.model}/{self.number}"


def read_versions(inventory: Inventory) -> tuple[ModelVersion, ...]:
    """Return every version named by a promotion in the store, the oldest first.

    Where a lost registry gave a number to another policy before, it is the newest one's.
    """
    found: dict[tuple[str, str], ModelVersion] = {}
    for record in inventory.of_kind("promotion"):
        # Of a file that is lost or damaged the promotion's own node says so.
        with suppress(OSError, ValueError, KeyError, TypeError):
            decision = json.loads((inventory.folder(record.sha256) / DECISION_FILE).read_bytes())
            name, policy = (str(decision["model"]), str(decision["version"])), record.inputs["policy"]
            before = found[name].promotions if name in found and found[name].policy == policy else ()
            found[name] = ModelVersion(*name, policy, (*before, record))
    return tuple(found.values())


def version_graph(versions: Iterable[ModelVersion], model: str, aliases: Mapping[str, str]) -> Graph:
    """Return versions as nodes after their promotions, with the aliases that name those of a model."""
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    for version in versions:
        held = sorted(alias for alias, number in aliases.items() if (model, number) == (version.model, version.number))
        nodes[version.key] = Node(version.key, "version", version.name, {"alias": ", ".join(held)} if held else {})
        edges += [Edge(record.sha256, version.key, "registered") for record in version.promotions]
    return Graph(nodes, tuple(edges))


def training_graph(policy: ArtifactRecord) -> Graph:
    """Return a policy's trainings and their machines, between it and its inputs' own nodes.

    There are several if each task was trained alone.
    """
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    for name, segments in policy.stretches.items():
        # The key in the JSON document stays.
        facts = {
            f"stretch {number}": f"steps {each.from_step}-{'' if each.to_step is None else each.to_step} on "
            f"{each.machine} from {each.began_at:%Y-%m-%d %H:%M} UTC, {each.ended or 'under way'}"
            for number, each in enumerate(segments, start=1)
        }
        key = f"training:{name}"
        nodes[key] = Node(key, "training", f"training {name}", facts)
        edges += [Edge(sha256, key, role) for role, sha256 in policy.inputs.items()]
        edges.append(Edge(key, policy.sha256, "trained"))
    return Graph(nodes, tuple(edges))
