"""The versions of the registered model, as the promotion artifacts name them: known without asking MLflow."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemas.artifact import ArtifactRecord
from tasks.lineage.graph import Edge, Graph, Node
from tasks.lineage.inventory import Inventory, short
from tasks.lineage.mlflow_client import SQLITE_PREFIX

DECISION_FILE: Final = "decision.json"
"""Of a promotion: the model, the version, and what was decided of it."""
_ALIASES: Final = "SELECT alias, version FROM registered_model_aliases WHERE name = ?"


@dataclass(frozen=True)
class ModelVersion:
    """A version of a registered model."""

    model: str
    number: str
    policy: str
    """The sha256 of the policy that it is."""
    promotions: tuple[ArtifactRecord, ...]
    """What registered it, and what a person decided of it later, the oldest first."""
    earlier: bool
    """Whether a registry that is gone gave it this number, which another policy has now."""

    @property
    def key(self) -> str:
        """Its key in a graph."""
        return f"version:{self.name}" + (f"@{short(self.policy)}" if self.earlier else "")

    @property
    def name(self) -> str:
        """What people call it."""
        return f"{self.model}/{self.number}"


def read_versions(inventory: Inventory) -> tuple[ModelVersion, ...]:
    """Return every version that a promotion in the store names, the oldest first."""
    named: dict[tuple[str, str], dict[str, list[ArtifactRecord]]] = {}
    for record in inventory.of_kind("promotion"):
        decision = _decision(inventory, record)
        if decision is not None and "policy" in record.inputs:
            policies = named.setdefault((str(decision["model"]), str(decision["version"])), {})
            # Promoted again, it is the registry's newest word.
            policies[record.inputs["policy"]] = [*policies.pop(record.inputs["policy"], []), record]
    return tuple(
        ModelVersion(model, number, policy, tuple(records), earlier=policy != list(policies)[-1])
        for (model, number), policies in named.items()
        for policy, records in policies.items()
    )


def version_graph(versions: Iterable[ModelVersion], aliases: Mapping[str, Mapping[str, str]]) -> Graph:
    """Return versions as nodes after their promotions.

    Args:
        versions: The versions.
        aliases: The version that each alias points to, by model.
    """
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    for version in versions:
        held = sorted(alias for alias, number in aliases.get(version.model, {}).items() if number == version.number)
        facts = {"alias": ", ".join(held)} if held and not version.earlier else {}
        if version.earlier:
            facts["registry"] = "an earlier one, which is gone; another policy has this number now"
        nodes[version.key] = Node(version.key, "version", version.name, facts)
        edges += [Edge(record.sha256, version.key, "registered") for record in version.promotions]
    return Graph(nodes, tuple(edges))


def local_aliases(tracking_uri: str, model: str) -> Mapping[str, str]:
    """Return the version that each alias of a model points to, from a SQLite store.

    MLflow's own client would take two seconds to import for it. Of a server nothing is known here.
    """
    file = Path(tracking_uri.removeprefix(SQLITE_PREFIX))
    if not tracking_uri.startswith(SQLITE_PREFIX) or not file.is_file():
        return {}
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
            return {alias: str(version) for alias, version in database.execute(_ALIASES, (model,))}
    except sqlite3.Error:
        # Of another version, locked, damaged or not ours to read: a version is shown without its alias.
        return {}


def _decision(inventory: Inventory, record: ArtifactRecord) -> Mapping[str, object] | None:
    """Read what a promotion decided; None where its file is lost or damaged, which its own node tells."""
    try:
        decision = json.loads((inventory.folder(record.sha256) / DECISION_FILE).read_bytes())
        return decision if {"model", "version"} <= decision.keys() else None
    except (OSError, ValueError, AttributeError):
        return None
