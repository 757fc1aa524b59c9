"""Artifact graph of a store: every artifact as a node, linked to its inputs."""

from collections.abc import Iterable

from tasks.lineage.graph.descriptions import describe
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.store.inventory import Inventory, short

DELETED = "deleted"
DAMAGED = "damaged"


def artifact_graph(inventory: Inventory) -> Graph:
    """Return all artifacts, without facts from their files.

    A deleted artifact is still a node if another was made from it; its facts state what remains known.
    """
    nodes = {sha256: _node(sha256, record.kind) for sha256, record in inventory.records.items()}
    for sha256, (kind, why) in inventory.unreadable.items():
        nodes[sha256] = _node(sha256, kind, {DAMAGED: f"{why}; what it was made from is not known"})
    edges = tuple(
        Edge(source, record.sha256, role)
        for record in inventory.records.values()
        for role, source in record.inputs.items()
    )
    for sha256 in {edge.source: None for edge in edges if edge.source not in nodes}:
        used = [(edge.role, inventory.records[edge.target]) for edge in edges if edge.source == sha256]
        uses = ", ".join(f"{role} of {record.kind} {short(record.sha256)}" for role, record in used)
        nodes[sha256] = _node(sha256, "artifact", {DELETED: f"the store has it no more; it was {uses}"})
    return Graph(nodes, edges)


def described(graph: Graph, inventory: Inventory) -> Graph:
    """Return a graph with facts from the artifacts' files, placed before the facts already known."""
    facts = {
        key: Node(key, node.kind, node.name, describe(inventory.records[key], inventory.folder(key)) | dict(node.facts))
        for key, node in graph.nodes.items()
        if key in inventory.records
    }
    return Graph({**graph.nodes, **facts}, graph.edges)


def what_is_wrong(nodes: Iterable[Node]) -> tuple[str, ...]:
    """Return a sentence for each deleted or damaged artifact."""
    return tuple(
        f"{node.name}: {node.facts[fault]}" for node in nodes for fault in (DELETED, DAMAGED) if fault in node.facts
    )


def _node(sha256: str, kind: str, facts: dict[str, str] | None = None) -> Node:
    return Node(sha256, kind, f"{kind} {short(sha256)}", facts or {})
