"""Walk from a reference, to a model version or alias, an artifact, a run or a prompt, to all its inputs and outputs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal

import polars as pl
from polars.exceptions import PolarsError

from schemas.errors import InputError
from schemas.tables.prompts import SPLITS
from tasks.lineage.graph.descriptions import describe, split_file
from tasks.lineage.graph.graph import Edge, Graph, ModelVersion, Node, training_graph, version_graph
from tasks.lineage.graph.rows import Identities, row_graph
from tasks.lineage.store.inventory import Inventory, short

DELETED: Final = "deleted"
DAMAGED: Final = "damaged"
MOST_NAMED: Final = 5
WHAT_THERE_IS: Final = (
    "a version (3, NAME/3), an alias (champion), an artifact's or a prompt's digest or its first 8 characters or more, "
    "or an MLflow or Prefect run; `tucano forget` takes the id of a review, an order or a customer"
)
_WITHOUT_A_DATASET: Final = frozenset({"prompts", "sheet", "audit", "monitoring"})
"""Artifacts that are not attributed to one dataset."""
_DIGEST: Final = re.compile(r"[0-9a-f]{8,64}")

ReferenceKind = Literal["version", "artifact", "run", "prompt"]


@dataclass(frozen=True)
class ResolvedReference:
    """Resolved reference of a user."""

    text: str
    kind: ReferenceKind
    keys: tuple[str, ...]
    """The nodes that it names; several for a run with several artifacts."""
    rows: pl.DataFrame | None = None
    """Those of a prompt, as `Identities.placed` returns them."""


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
        self, inventory: Inventory, versions: Sequence[ModelVersion], model: str, aliases: Mapping[str, str]
    ) -> None:
        """Use data already read, with the model of a bare number or alias, and the version of each alias."""
        self._inventory, self._versions = inventory, versions
        self._model, self._aliases = model, aliases
        self._artifacts = _artifact_graph(inventory)
        self._all = self._artifacts.joined(version_graph(versions, model, aliases))

    @cached_property
    def _identities(self) -> Identities:
        return Identities(self._inventory, ("prompts", "dataset"))

    def find(self, text: str) -> ResolvedReference:
        """Resolve a reference, also to artifacts that the store no longer has, but that others were made from."""
        wanted = text.strip()
        found = self._version(wanted) or _only(wanted, list(self._candidates(wanted)))
        if found is None:
            known = ", ".join(each.name for each in self._versions) or "none"
            raise InputError(
                f"{wanted!r} names nothing in the artifact store {self._inventory.root}; the versions known here: "
                f"{known}; give {WHAT_THERE_IS}"
            )
        return found

    def _version(self, wanted: str) -> ResolvedReference | None:
        """Find a version by its number or an alias, with or without the model's name."""
        model, _, number = wanted.rpartition("/")
        name = f"{model or self._model}/{self._aliases.get(number, number)}"
        version = next((each for each in self._versions if each.name == name), None)
        return None if version is None else ResolvedReference(wanted, "version", (version.key,))

    def _candidates(self, wanted: str) -> Iterator[ResolvedReference]:
        """Yield everything that a digest or a run's id may name."""
        wanted = wanted.lower()
        records = self._inventory.records.values()
        if made := [each.sha256 for each in records if wanted in {each.mlflow_run_id, each.prefect_run_id}]:
            yield ResolvedReference(wanted, "run", tuple(made))
        if not _DIGEST.fullmatch(wanted):
            return
        for sha256 in self._artifacts.nodes:
            if sha256.startswith(wanted):
                yield ResolvedReference(wanted, "artifact", (sha256,))
        placed = self._identities.placed(pl.col("prompt_id").str.starts_with(wanted))
        for (prompt_id,), rows in placed.group_by("prompt_id", maintain_order=True):
            yield ResolvedReference(wanted, "prompt", (f"prompt:{prompt_id}",), rows)

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
        if reference.rows is not None:
            graph = row_graph(self._inventory, self._all, self._identities, reference.rows)
        else:
            graph = self._all.around(*reference.keys)
        for record in self._inventory.of_kind("policy"):
            if record.sha256 in graph.nodes:
                graph = graph.joined(training_graph(record))
        return graph.part(graph.nodes)

    def _rows_of(self, keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
        rows: dict[str, tuple[str, ...]] = {}
        datasets = {dataset for key in keys if (dataset := self.dataset_of(key)) is not None}
        for folder in map(self._inventory.folder, sorted(datasets)):
            for split in SPLITS:
                with suppress(OSError, PolarsError):
                    ids = pl.read_parquet(folder / split_file(split), columns=["prompt_id"])["prompt_id"]
                    rows[split] = (*rows.get(split, ()), *ids)
        return rows

    def dataset_of(self, key: str) -> str | None:
        """Return the dataset from which an artifact or a version was made, through its policy."""
        version = next((each for each in self._versions if each.key == key), None)
        record = self._inventory.records.get(key if version is None else version.policy)
        if record is None or record.kind in _WITHOUT_A_DATASET:
            return None
        dataset = record.sha256 if record.kind == "dataset" else record.inputs.get("dataset")
        return dataset if dataset in self._inventory.records else None


def _only(wanted: str, found: Sequence[ResolvedReference]) -> ResolvedReference | None:
    """Return the one that is named, whole ids first."""
    of_id = {wanted.lower(), f"prompt:{wanted.lower()}"}
    chosen = [each for each in found if each.kind == "run" or of_id & set(each.keys)] or found
    if len(chosen) > 1:
        named = [" and ".join(key.replace(":", " ") for key in each.keys) for each in chosen[:MOST_NAMED]]
        more = f" and {len(chosen) - MOST_NAMED} more" if len(chosen) > MOST_NAMED else ""
        raise InputError(f"{wanted!r} may be {len(chosen)} things: {', '.join(named)}{more}; write more of it")
    return chosen[0] if chosen else None


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
