"""Versions of the registered model, and trainings of policies, as artifacts name them: without asking MLflow."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from schemas.artifact import ArtifactRecord
from tasks.lineage.graph.descriptions import DECISION_FILE
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.store.inventory import Inventory


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
