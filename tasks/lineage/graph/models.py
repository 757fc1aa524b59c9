"""Versions of the registered model as named by promotion artifacts, known without asking MLflow."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from schemas.artifact import ArtifactRecord
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.mlflow.client import SQLITE_PREFIX, local_rows
from tasks.lineage.store.inventory import Inventory

DECISION_FILE: Final = "decision.json"
"""File of a promotion: the model, the version, and the decision."""
_ALIASES: Final = "SELECT alias, version FROM registered_model_aliases WHERE name = ?"


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


def local_aliases(tracking_uri: str, model: str) -> Mapping[str, str]:
    """Return the version of each alias of a model, from a SQLite store without MLflow; empty for a server."""
    if not tracking_uri.startswith(SQLITE_PREFIX):
        return {}
    return {alias: str(version) for alias, version in local_rows(tracking_uri, _ALIASES, model)}
