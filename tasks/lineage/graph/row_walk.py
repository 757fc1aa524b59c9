"""Walk from a row forwards: its prompts, the artifacts trained on them, and the resulting models.

A prompt does not reach everything made from its dataset: a training prompt reaches what was trained on it, a test
prompt only the evaluation of models, and one in quarantine nothing.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.artifact import ArtifactKind, ArtifactRecord
from tasks.lineage.graph.descriptions import is_rollout_log
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.graph.rows import Identities, PlacedRow
from tasks.lineage.store.inventory import Inventory, short

READERS: Final[Mapping[str, tuple[ArtifactKind, ...]]] = {
    "train": ("base", "policy", "search"),
    "validation": ("policy", "merged", "promotion", "search"),
    "test": ("answers", "evaluation"),
}
"""Kinds of artifacts made from the rows of a split."""


def row_graph(inventory: Inventory, artifacts: Graph, identities: Identities, rows: Sequence[PlacedRow]) -> Graph:
    """Return everything made from some prompts, given all artifacts and model versions."""
    kin = identities.with_kin(rows)
    # What a prompt paraphrases is shown, and what was made of that is not.
    above = {row.parent_id for row in rows if row.parent_id is not None} - {row.prompt_id for row in rows}
    below = [row for row in kin if row.prompt_id not in above]
    made_from = [
        edge
        for row in below
        for edge in artifacts.after.get(row.artifact, ())
        if (record := inventory.records.get(edge.target)) and record.kind in READERS.get(row.place, ())
    ]
    direct = {edge.target for edge in made_from}
    made = artifacts.part(direct | artifacts.led_to(*direct))
    tables = {row.artifact for row in kin}
    inputs = (inventory.records[table].inputs for table in tables)
    holders = artifacts.part(tables | {each["prompts"] for each in inputs if "prompts" in each})
    graph = _prompt_graph(kin).joined(Graph({}, tuple(made_from))).joined(holders).joined(made)
    for policy in inventory.of_kind("policy"):
        if policy.sha256 in made.nodes:
            of_dataset = (row for row in below if row.place == "train" and row.artifact == policy.inputs.get("dataset"))
            graph = graph.joined(_sampled(inventory, policy, {row.prompt_id for row in of_dataset}))
    return graph


def _prompt_graph(rows: Sequence[PlacedRow]) -> Graph:
    """Return prompts with their tables, and the prompts that they paraphrase."""
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    for row in rows:
        key = f"prompt:{row.prompt_id}"
        known = {"task": row.task, "source": row.source, "review": row.review_id, "order": row.order_id}
        facts = {name: value for name, value in (known | {"customer": row.customer_id}).items() if value is not None}
        nodes.setdefault(key, Node(key, "prompt", f"prompt {short(row.prompt_id)}", facts))
        if row.parent_id is not None:
            edges.append(Edge(f"prompt:{row.parent_id}", key, "paraphrased"))
        place = "row" if row.place == "prompts" else row.place
        edges.append(Edge(key, row.artifact, place if row.reason is None else f"{place}: {row.reason}"))
    return Graph(nodes, tuple(dict.fromkeys(edges)))


def _sampled(inventory: Inventory, policy: ArtifactRecord, prompt_ids: Collection[str]) -> Graph:
    """Return a training's rollouts of some prompts of its training split, a node a prompt."""
    folder = inventory.folder(policy.sha256)
    logs = [folder / name for name in sorted(policy.files) if is_rollout_log(name)]
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    for prompt_id, steps in _rollouts([str(log) for log in logs], prompt_ids):
        # One fact a step.
        facts = {
            f"step {each['step']}": f"{each['len']} rollouts, reward {each['mean']:.3f} "
            f"({each['low']:.3f}-{each['high']:.3f}), {each['trained']} trained on"
            for each in steps.iter_rows(named=True)
        }
        key, name = f"rollouts:{policy.sha256}/{prompt_id}", f"rollouts of prompt {short(prompt_id)}"
        nodes[key] = Node(key, "rollouts", f"{steps['len'].sum()} {name}", facts)
        edges += [Edge(f"prompt:{prompt_id}", key, "sampled"), Edge(key, policy.sha256, "trained")]
    # DPO keeps no rollouts.
    part = "in its training split, never sampled" if logs else "in its training split"
    there = {edge.source for edge in edges}
    keys = [f"prompt:{each}" for each in sorted(prompt_ids)]
    edges += [Edge(key, policy.sha256, part) for key in keys if key not in there]
    return Graph(nodes, tuple(edges))


def _rollouts(logs: Sequence[str], prompt_ids: Collection[str]) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield prompts that a training drew, each with its rollouts' figures by step; none of logs that cannot be read."""
    reward = pl.col("reward")
    figures = {"trained": pl.col("advantage").count(), "mean": reward.mean(), "low": reward.min(), "high": reward.max()}
    with suppress(OSError, PolarsError):
        if logs:
            drawn = pl.scan_parquet(list(logs), glob=False).filter(pl.col("prompt_id").is_in(sorted(prompt_ids)))
            by_step = drawn.group_by("prompt_id", "step").agg(pl.len(), **figures).sort("prompt_id", "step").collect()
            for (prompt_id,), steps in by_step.group_by("prompt_id", maintain_order=True):
                yield str(prompt_id), steps
