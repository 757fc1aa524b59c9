"""Walk from a reference to all its inputs and all its outputs."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.tables.prompts import SPLITS
from tasks.lineage.graph.descriptions import describe, split_file
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.graph.models import ModelVersion, training_graph, version_graph
from tasks.lineage.graph.references import ReferenceKind, Registered, ResolvedReference, find_reference
from tasks.lineage.graph.row_walk import row_graph
from tasks.lineage.graph.rows import Identities
from tasks.lineage.store.inventory import Inventory, short

DELETED: Final = "deleted"
DAMAGED: Final = "damaged"
_WITHOUT_A_DATASET: Final = frozenset({"prompts", "sheet", "audit", "monitoring"})
"""Artifacts that are not attributed to one dataset."""


@dataclass(frozen=True)
class Lineage:
    """Inputs and outputs of a reference."""

    reference: str
    kind: ReferenceKind
    subjects: tuple[str, ...]
    graph: Graph
    rows: dict[str, tuple[str, ...]]
    """The prompt_id of every row in the dataset of a model or an artifact, by split."""
    warnings: tuple[str, ...]
    """Deleted or damaged artifacts, each one sentence."""

    def document(self) -> dict[str, Any]:
        """Return it as one JSON document."""
        before, after = self.graph.came_from(*self.subjects), self.graph.led_to(*self.subjects)
        sides = {(True, True): "both", (True, False): "before", (False, True): "after", (False, False): "beside"}
        document = self.graph.document()
        for node in document["nodes"]:
            key = node["key"]
            node["side"] = "subject" if key in self.subjects else sides[key in before, key in after]
        return {
            "reference": self.reference,
            "kind": self.kind,
            "subjects": list(self.subjects),
            **document,
            "rows": {split: list(ids) for split, ids in self.rows.items()},
            "warnings": list(self.warnings),
        }


class Walker:
    """Walker through one artifact store in its present state."""

    def __init__(
        self,
        inventory: Inventory,
        versions: Sequence[ModelVersion],
        known: Registered,
    ) -> None:
        """Use data already read."""
        self._inventory = inventory
        self._versions = versions
        self._known = known
        self._artifacts = _artifact_graph(inventory)
        self._all = self._artifacts.joined(version_graph(versions, known.model, known.aliases))

    @cached_property
    def _identities(self) -> Identities:
        return Identities(self._inventory, ("prompts", "dataset"))

    def find(self, text: str) -> ResolvedReference:
        """Resolve a reference.

        Raises:
            InputError: It names nothing, or several things.
        """
        digests = list(self._artifacts.nodes)
        return find_reference(text, self._inventory, digests, self._versions, self._known, lambda: self._identities)

    def walk(self, reference: ResolvedReference) -> Lineage:
        """Return the inputs and outputs of a reference, artifacts with facts from their files."""
        found, records = self._graph(reference), self._inventory.records
        nodes = {
            key: replace(node, facts=describe(records[key], self._inventory.folder(key)) | dict(node.facts))
            if key in records
            else node
            for key, node in found.nodes.items()
        }
        faults = [
            f"{node.name}: {node.facts[fault]}"
            for node in nodes.values()
            for fault in (DELETED, DAMAGED)
            if fault in node.facts
        ]
        gone = [f"artifact {short(key)}: the store has it no more" for key in reference.keys if key not in nodes]
        graph, rows = Graph(nodes, found.edges), self._rows_of(reference.keys)
        return Lineage(reference.text, reference.kind, reference.keys, graph, rows, (*faults, *gone))

    def artifacts(self, reference: ResolvedReference) -> tuple[str, ...]:
        """Return the sha256 of every artifact of a walk, including deleted ones."""
        keys = dict.fromkeys((*self._graph(reference).nodes, *reference.keys))
        return tuple(key for key in keys if ":" not in key)

    def _graph(self, reference: ResolvedReference) -> Graph:
        graph = self._artifacts_and_rows(reference)
        for record in self._inventory.of_kind("policy"):
            if record.sha256 in graph.nodes:
                graph = graph.joined(training_graph(record))
        return graph.part(graph.nodes)

    def _artifacts_and_rows(self, reference: ResolvedReference) -> Graph:
        if reference.kind == "prompt":
            return row_graph(self._inventory, self._all, self._identities, reference.rows)
        return self._all.around(*reference.keys)

    def _rows_of(self, keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
        rows: dict[str, tuple[str, ...]] = {}
        datasets = {dataset for key in keys if (dataset := self._dataset_of(key)) is not None}
        for folder in map(self._inventory.folder, sorted(datasets)):
            for split in SPLITS:
                with suppress(OSError, PolarsError):
                    ids = pl.read_parquet(folder / split_file(split), columns=["prompt_id"])["prompt_id"]
                    rows[split] = (*rows.get(split, ()), *ids)
        return rows

    def _dataset_of(self, key: str) -> str | None:
        """Return the dataset from which an artifact or a version was made, through its policy."""
        version = next((each for each in self._versions if each.key == key), None)
        record = self._inventory.records.get(key if version is None else version.policy)
        if record is None or record.kind in _WITHOUT_A_DATASET:
            return None
        dataset = record.sha256 if record.kind == "dataset" else record.inputs.get("dataset")
        return dataset if dataset in self._inventory.records else None


def _artifact_graph(inventory: Inventory) -> Graph:
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
    uses: dict[str, list[str]] = {}
    for edge in edges:
        if edge.source not in nodes:
            used = inventory.records[edge.target]
            uses.setdefault(edge.source, []).append(f"{edge.role} of {used.kind} {short(used.sha256)}")
    for sha256, used_as in uses.items():
        facts = {DELETED: f"the store has it no more; it was {', '.join(used_as)}"}
        nodes[sha256] = _node(sha256, "artifact", facts)
    return Graph(nodes, edges)


def _node(sha256: str, kind: str, facts: dict[str, str] | None = None) -> Node:
    return Node(sha256, kind, f"{kind} {short(sha256)}", facts or {})
