"""Walk from a row forwards: its prompts, the artifacts trained on them, and the resulting models.

A prompt does not reach everything made from its dataset: a training prompt reaches what was trained on it, a test
prompt only the evaluation of models, and one in quarantine nothing.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.tasks import TASK_NAMES
from tasks.lineage.graph.descriptions import is_rollout_log
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.graph.rows import PROMPTS, PlacedRow, origins_of, with_kin
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
PAIRS_FILE: Final = "pairs.json"
"""File of a policy trained by DPO with its preference pairs."""


def row_graph(
    inventory: Inventory, artifacts: Graph, rows: Sequence[PlacedRow], read_trainings: ReadTrainings
) -> Graph:
    """Return everything made from some prompts, given all artifacts and model versions."""
    asked = {row.prompt_id for row in rows}
    kin = with_kin(inventory, rows)
    above = {row.parent_id for row in rows if row.parent_id is not None} - asked
    below = [row for row in kin if row.prompt_id not in above]
    made_from = [
        *(edge for row in below for edge in artifacts.after.get(row.artifact, ()) if _reads(inventory, edge, row)),
        *_scored(inventory, {row.prompt_id for row in below}),
    ]
    direct = {edge.target for edge in made_from}
    made = artifacts.part(direct | artifacts.led_to(*direct))
    tables = {row.artifact for row in kin}
    inputs = (inventory.records[table].inputs for table in tables)
    holders = artifacts.part(tables | {each["prompts"] for each in inputs if "prompts" in each})
    walked = _prompt_graph(kin).joined(Graph({}, (*map(_placing, kin), *made_from))).joined(holders).joined(made)
    return walked.joined(_sampled(inventory, below, made.nodes, read_trainings)).joined(_judged(inventory, made, below))


def _prompt_graph(rows: Sequence[PlacedRow]) -> Graph:
    """Return prompts with their origins, or with the prompts that they paraphrase."""
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    for row in rows:
        key = f"prompt:{row.prompt_id}"
        facts = {"task": row.task or "unknown", "source": row.source or "unknown"}
        nodes.setdefault(key, Node(key, "prompt", f"prompt {short(row.prompt_id)}", facts))
        if row.parent_id is not None:
            edges.append(Edge(f"prompt:{row.parent_id}", key, "paraphrased"))
        else:
            edges += [Edge(origin.key, key, "asked about") for origin in origins_of([row])]
    return Graph(nodes, tuple(dict.fromkeys(edges)))


def _placing(row: PlacedRow) -> Edge:
    role = "row" if row.place == PROMPTS else row.place if row.reason is None else f"{row.place}: {row.reason}"
    return Edge(f"prompt:{row.prompt_id}", row.artifact, role)


def _reads(inventory: Inventory, edge: Edge, row: PlacedRow) -> bool:
    """Return whether an edge leads from a row's dataset to an artifact made from its split."""
    record = inventory.records.get(edge.target)
    return record is not None and record.kind in READERS.get(row.place, ())


def _scored(inventory: Inventory, prompt_ids: set[str]) -> Iterator[Edge]:
    """Yield the edges to the sheets and audits with scored rollouts of these prompts."""
    for record in (record for kind in SHEETS for record in inventory.of_kind(kind)):
        with suppress(OSError):
            text = (inventory.folder(record.sha256) / "rollouts.jsonl").read_bytes()
            for each in sorted(prompt_ids):
                if each.encode() in text:
                    yield Edge(f"prompt:{each}", record.sha256, "scored by its raters")


def _sampled(
    inventory: Inventory, rows: Sequence[PlacedRow], reached: Collection[str], read_trainings: ReadTrainings
) -> Graph:
    """Return each training's rollouts of its training rows, and its checkpoints since then."""
    graph = Graph({}, ())
    for policy in (record for record in inventory.of_kind("policy") if record.sha256 in reached):
        of_dataset = (row for row in rows if row.place == "train" and row.artifact == policy.inputs.get("dataset"))
        in_training = {row.prompt_id for row in of_dataset}
        nodes: dict[str, Node] = {}
        edges: list[Edge] = []
        begun: dict[str, int] = {}
        for prompt_id, task, steps in _rollouts(inventory, policy, in_training):
            node = _rollout_node(policy, prompt_id, steps)
            nodes[node.key] = node
            begun[prompt_id] = steps["step"][0]
            chosen = _chosen_steps(inventory.folder(policy.sha256)).get(task)
            # The policy's weights may be from an earlier step.
            is_late = chosen is not None and begun[prompt_id] > chosen
            part = f"sampled after step {chosen}, whose weights it has" if is_late else "trained"
            edges += [Edge(f"prompt:{prompt_id}", node.key, "sampled"), Edge(node.key, policy.sha256, part)]
        since = training_graph(policy, read_trainings(), min(begun.values(), default=0))
        edges += [
            Edge(f"rollouts:{policy.sha256}/{prompt_id}", node.key, "trained")
            for prompt_id, first in begun.items()
            for node in since.nodes.values()
            if node.kind == "checkpoint" and _step_of(node) >= first
        ]
        checkpoints = since.part({edge.target for edge in edges})
        edges += [edge for edge in since.edges if edge.source in checkpoints.nodes]
        parts = _part_without_rollouts(inventory, policy, sorted(in_training - begun.keys()))
        edges += [Edge(f"prompt:{each}", policy.sha256, part) for each, part in parts.items()]
        graph = graph.joined(Graph({**nodes, **checkpoints.nodes}, tuple(edges)))
    return graph


def _step_of(checkpoint: Node) -> int:
    return int(checkpoint.key.rpartition("/")[2].partition("-")[0])


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


def _rollouts(
    inventory: Inventory, policy: ArtifactRecord, prompt_ids: Iterable[str]
) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Yield prompts that a training drew, each with its task and its rollouts' figures by step.

    A log that cannot be read has none; the policy's node says so.
    """
    folder = inventory.folder(policy.sha256)
    logs = [folder / name for name in sorted(policy.files) if is_rollout_log(name)]
    reward = pl.col("reward")
    with suppress(OSError, PolarsError):
        rows = (
            pl.scan_parquet(logs, glob=False)
            .filter(pl.col("prompt_id").is_in(sorted(prompt_ids)))
            .group_by("prompt_id", "task", "step")
            .agg(pl.len(), trained=pl.col("advantage").count(), mean=reward.mean(), low=reward.min(), high=reward.max())
            .sort("prompt_id", "step")
            .collect()
            if logs
            else pl.DataFrame(schema=["prompt_id", "task"])
        )
        for (prompt_id, task), steps in rows.group_by("prompt_id", "task", maintain_order=True):
            yield str(prompt_id), str(task), steps


def _rollout_node(policy: ArtifactRecord, prompt_id: str, steps: pl.DataFrame) -> Node:
    """Return the node of a prompt's rollouts in one training, with one fact per step."""
    facts = {
        f"step {each['step']}": f"{each['len']} rollouts, reward {each['mean']:.3f} "
        f"({each['low']:.3f}-{each['high']:.3f}), {each['trained']} trained on"
        for each in steps.iter_rows(named=True)
    }
    name = f"{steps['len'].sum()} rollouts of prompt {short(prompt_id)}"
    return Node(f"rollouts:{policy.sha256}/{prompt_id}", "rollouts", name, facts)


def _part_without_rollouts(inventory: Inventory, policy: ArtifactRecord, prompt_ids: Collection[str]) -> dict[str, str]:
    """Return the role of training prompts of which a training sampled no rollouts.

    DPO learns from pairs made before it began, from some of the prompts, and keeps no rollouts.
    """
    folder = inventory.folder(policy.sha256)
    files = [folder / name for name in policy.files if name.endswith(PAIRS_FILE)]
    if not files:
        return dict.fromkeys(prompt_ids, "in its training split, never sampled")
    try:
        paired = {pair["prompt_id"] for file in files for pair in json.loads(file.read_bytes())}
    except (OSError, ValueError, KeyError, TypeError):
        return dict.fromkeys(prompt_ids, "in its training split")
    return {
        each: "trained by a preference pair" if each in paired else "in its training split, without a preference pair"
        for each in prompt_ids
    }


def _chosen_steps(policy: Path) -> Mapping[str, int]:
    """Return the chosen step by task: the same one, or one per task if each was trained alone."""
    try:
        summary = json.loads((policy / "training.json").read_bytes())
        step = summary["chosen_step"]
        return dict.fromkeys(TASK_NAMES, step) if step is not None else summary["chosen_steps"]
    except (OSError, ValueError, KeyError):
        return {}
