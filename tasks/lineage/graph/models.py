"""Versions of the registered model as named by promotion artifacts, known without asking MLflow."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from schemas.artifact import ArtifactRecord
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.mlflow.client import SQLITE_PREFIX, local_rows
from tasks.lineage.store.inventory import Inventory, short

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
    earlier: bool
    """Whether a lost registry assigned this number, which now belongs to another policy."""

    @property
    def key(self) -> str:
        """Return its key in a graph."""
        return f"version:{self.name}" + (f"@{short(self.policy)}" if self.earlier else "")

    @property
    def name(self) -> str:
        """Return its display name."""
        return f"{self.model}/{self.number}"


def read_versions(inventory: Inventory) -> tuple[ModelVersion, ...]:
    """Return every version named by a promotion in the store, the oldest first."""
    named: dict[tuple[str, str], dict[str, list[ArtifactRecord]]] = {}
    for record in inventory.of_kind("promotion"):
        # Of a file that is lost or damaged the promotion's own node says so.
        with suppress(OSError, ValueError, KeyError, TypeError):
            decision = json.loads((inventory.folder(record.sha256) / DECISION_FILE).read_bytes())
            policies = named.setdefault((str(decision["model"]), str(decision["version"])), {})
            # Promoted again, so it is the registry's newest entry.
            policy = record.inputs["policy"]
            policies[policy] = [*policies.pop(policy, []), record]
    return tuple(
        ModelVersion(model, number, policy, tuple(records), earlier=policy != list(policies)[-1])
        for (model, number), policies in named.items()
        for policy, records in policies.items()
    )


def version_graph(versions: Iterable[ModelVersion], aliases: Mapping[str, Mapping[str, str]]) -> Graph:
    """Return versions as nodes after their promotions, with the aliases that name them, by model."""
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
    """Return the version of each alias of a model, from a SQLite store without MLflow; empty for a server."""
    if not tracking_uri.startswith(SQLITE_PREFIX):
        return {}
    return {alias: str(version) for alias, version in local_rows(tracking_uri, _ALIASES, model)}
