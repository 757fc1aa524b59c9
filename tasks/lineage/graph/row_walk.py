"""Walk from a row forwards: its prompts, the artifacts trained on them, and the resulting models.

A prompt does not reach everything made from its dataset: a training prompt reaches what was trained on it, a test
prompt only the evaluation of models, and one in quarantine nothing.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.artifact import ArtifactKind
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.graph.rollouts import part_without_rollouts, read_rollouts
from tasks.lineage.graph.rows import PROMPTS, PlacedRow, with_kin
from tasks.lineage.graph.stores import StoreOrigin
from tasks.lineage.graph.trainings import ReadTrainings, training_graph
from tasks.lineage.store.inventory import Inventory, short

READERS: Final[Mapping[str, tuple[ArtifactKind, ...]]] = {
    "train": ("base", "policy", "search"),
    "validation": ("policy", "merged", "promotion", "search"),
    "test": ("answers", "evaluation"),
}
"""Kinds of artifacts made from the rows of a split."""
SHEETS: Final[tuple[ArtifactKind, ...]] = ("sheet", "audit")
"""Artifacts with rollouts for people to score."""
STORE_COLUMNS: Final[Mapping[str, str]] = {
    "customer": "customer_unique_id",
    "order": "order_id",
    "review": "review_id",
}
"""Column of a store's tables that names an origin, by its kind."""


def row_graph(
    inventory: Inventory, artifacts: Graph, rows: Sequence[PlacedRow], read_trainings: ReadTrainings
) -> Graph:
    """Return everything made from some prompts.

    Args:
        inventory: The store.
        artifacts: All artifacts and model versions.
        rows: The rows of the requested prompts.
        read_trainings: Returns the mirror's trainings.
    """
    asked = {row.prompt_id for row in rows}
    kin, scrubbed = with_kin(inventory, list(rows))
    above = {row.parent_id for row in rows if row.parent_id is not None} - asked
    below = [row for row in kin if row.prompt_id not in above]
    prompts = _prompt_graph(kin, scrubbed)
    reading = [edge for row in below for edge in _reading(inventory, artifacts, row)]
    scored = _scored(inventory, {row.prompt_id for row in below})
    direct = {edge.target for edge in (*reading, *scored)}
    reached = direct | artifacts.led_to(*direct)
    edges = [*map(_placing, kin), *reading, *scored]
    tables = {row.artifact for row in kin}
    sources = {
        inventory.records[table].inputs["prompts"] for table in tables if "prompts" in inventory.records[table].inputs
    }
    made = artifacts.part(reached)
    holders = artifacts.part(tables | sources)
    walked = prompts.joined(Graph({}, tuple(edges))).joined(holders).joined(made)
    return walked.joined(_sampled(inventory, below, reached, read_trainings)).joined(_judged(inventory, made, below))


def store_graph(inventory: Inventory, artifacts: Graph, origins: Sequence[StoreOrigin]) -> Graph:
    """Return the prompts artifacts whose stores contain some reviews, orders or customers.

    Args:
        inventory: The store.
        artifacts: All artifacts.
        origins: The reviews, orders and customers.
    """
    named: dict[str, list[StoreOrigin]] = {}
    edges: dict[Edge, None] = {}
    for record in inventory.of_kind("prompts"):
        for name, digest in record.files.items():
            if name.startswith("store/") and name.endswith(".csv"):
                if digest not in named:
                    named[digest] = _named_in(inventory.folder(record.sha256) / name, origins)
                edges |= {Edge(origin.key, record.sha256, "in its store"): None for origin in named[digest]}
    return Graph({}, tuple(edges)).joined(artifacts.part(edge.target for edge in edges))


def _named_in(path: Path, origins: Sequence[StoreOrigin]) -> list[StoreOrigin]:
    """Return the origins that a store's table names; none if it cannot be read."""
    try:
        table = pl.scan_csv(path, infer_schema=False)
        there = set(table.collect_schema().names())
        return [
            origin
            for origin in origins
            if (column := STORE_COLUMNS[origin.kind]) in there
            and origin.identifier in table.select(column).collect()[column]
        ]
    except (OSError, PolarsError):
        return []


def origins_of(rows: Iterable[PlacedRow]) -> list[StoreOrigin]:
    """Return the most specific origin of each prompt: the review, the order or the person."""
    found: dict[StoreOrigin, None] = {}
    for row in rows:
        for kind, identifier in (("review", row.review_id), ("order", row.order_id), ("customer", row.customer_id)):
            if identifier is not None:
                found[StoreOrigin(kind, identifier)] = None
                break
    return list(found)


def _prompt_graph(rows: Sequence[PlacedRow], scrubbed: Sequence[tuple[str, str]]) -> Graph:
    """Return prompts with their origins, their paraphrase sources, and their scrubbed forms."""
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    cleaned = {after for _, after in scrubbed}
    for row in rows:
        key = f"prompt:{row.prompt_id}"
        facts = {"task": row.task or "unknown", "source": row.source or "unknown"}
        nodes.setdefault(key, Node(key, "prompt", f"prompt {short(row.prompt_id)}", facts))
        if row.prompt_id in cleaned:
            continue
        if row.parent_id is not None:
            edges.append(Edge(f"prompt:{row.parent_id}", key, "paraphrased"))
        else:
            edges += [Edge(origin.key, key, "asked about") for origin in origins_of([row])]
    edges += [Edge(f"prompt:{before}", f"prompt:{after}", "scrubbed") for before, after in scrubbed]
    return Graph(nodes, tuple(dict.fromkeys(edges)))


def _placing(row: PlacedRow) -> Edge:
    role = "row" if row.place == PROMPTS else row.place if row.reason is None else f"{row.place}: {row.reason}"
    return Edge(f"prompt:{row.prompt_id}", row.artifact, role)


def _reading(inventory: Inventory, artifacts: Graph, row: PlacedRow) -> list[Edge]:
    """Return the edges from a row's dataset to the artifacts made from its split."""
    readers = READERS.get(row.place, ())
    return [edge for edge in artifacts.after.get(row.artifact, ()) if _kind(inventory, edge) in readers]


def _kind(inventory: Inventory, edge: Edge) -> ArtifactKind | None:
    record = inventory.records.get(edge.target)
    return None if record is None else record.kind


def _scored(inventory: Inventory, prompt_ids: set[str]) -> list[Edge]:
    """Return the edges to the sheets and audits with scored rollouts of these prompts."""
    found: list[Edge] = []
    for record in (record for kind in SHEETS for record in inventory.of_kind(kind)):
        with suppress(OSError):
            text = (inventory.folder(record.sha256) / "rollouts.jsonl").read_bytes()
            found += [
                Edge(f"prompt:{each}", record.sha256, "scored by its raters")
                for each in sorted(prompt_ids)
                if each.encode() in text
            ]
    return found


def _sampled(
    inventory: Inventory, rows: Sequence[PlacedRow], reached: Iterable[str], read_trainings: ReadTrainings
) -> Graph:
    """Return each training's rollouts of its training rows, and its checkpoints since then."""
    graph = Graph({}, ())
    kept = set(reached)
    for policy in (record for record in inventory.of_kind("policy") if record.sha256 in kept):
        in_training = {
            row.prompt_id for row in rows if row.place == "train" and row.artifact == policy.inputs.get("dataset")
        }
        sampled = read_rollouts(inventory, policy, in_training)
        others = sorted(in_training - {each.prompt_id for each in sampled})
        parts = part_without_rollouts(inventory, policy, others)
        edges = [Edge(f"prompt:{each}", policy.sha256, part) for each, part in parts.items()]
        since = training_graph(policy, read_trainings(), min((each.steps[0].step for each in sampled), default=0))
        nodes = {each.node.key: each.node for each in sampled}
        for each in sampled:
            edges.append(Edge(f"prompt:{each.prompt_id}", each.node.key, "sampled"))
            edges.append(Edge(each.node.key, policy.sha256, each.part_in_the_policy))
            edges += [
                Edge(each.node.key, key, "trained")
                for key, node in since.nodes.items()
                if node.kind == "checkpoint" and step_of(key) >= each.steps[0].step
            ]
        trained = {edge.target for edge in edges}
        checkpoints = since.part(trained & since.nodes.keys())
        to_policy = tuple(edge for edge in since.edges if edge.source in checkpoints.nodes)
        graph = graph.joined(Graph({**nodes, **checkpoints.nodes}, (*edges, *to_policy)))
    return graph


def step_of(key: str) -> int:
    """Return the step in the key of a checkpoint's node."""
    return int(key.rpartition("/")[2].partition("-")[0])


def _judged(inventory: Inventory, made: Graph, rows: Sequence[PlacedRow]) -> Graph:
    """Return the evaluations with each model's scores on the test prompts among them."""
    asked = {row.prompt_id for row in rows if row.place == "test"}
    nodes: dict[str, Node] = {}
    for key, node in made.nodes.items():
        if node.kind != "evaluation" or key not in inventory.records or not asked:
            continue
        scores: dict[str, str] = {}
        for file in sorted(inventory.folder(key).glob("*.scores.jsonl")):
            with suppress(OSError, ValueError, KeyError):
                found = [line for line in map(json.loads, file.open(encoding="utf-8")) if line["prompt_id"] in asked]
                if found:
                    mean = sum(line["score"] for line in found) / len(found)
                    scores[f"{file.name.partition('.')[0]} on these prompts"] = f"{mean:.3f} in {len(found)} answers"
        nodes[key] = Node(node.key, node.kind, node.name, {**node.facts, **scores})
    return Graph(nodes, ())
