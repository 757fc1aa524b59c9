"""Walk from a row forwards: its prompts, the artifacts trained on them, and the resulting models.

A prompt does not reach everything made from its dataset: a training prompt reaches what was trained on it, a test
prompt only the evaluation of models, and one in quarantine nothing.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
    """Return everything made from some prompts.

    Args:
        inventory: The store.
        artifacts: All artifacts and model versions.
        rows: The rows of the requested prompts.
        read_trainings: Returns the mirror's trainings.
    """
    asked = {row.prompt_id for row in rows}
    kin = with_kin(inventory, rows)
    above = {row.parent_id for row in rows if row.parent_id is not None} - asked
    below = [row for row in kin if row.prompt_id not in above]
    prompts = _prompt_graph(kin)
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
        sampled = _read_rollouts(inventory, policy, in_training)
        others = sorted(in_training - {each.prompt_id for each in sampled})
        parts = _part_without_rollouts(inventory, policy, others)
        edges = [Edge(f"prompt:{each}", policy.sha256, part) for each, part in parts.items()]
        since = training_graph(policy, read_trainings(), min((each.steps[0].step for each in sampled), default=0))
        nodes = {each.node.key: each.node for each in sampled}
        for each in sampled:
            edges.append(Edge(f"prompt:{each.prompt_id}", each.node.key, "sampled"))
            edges.append(Edge(each.node.key, policy.sha256, each.part_in_the_policy))
            edges += [
                Edge(each.node.key, key, "trained")
                for key, node in since.nodes.items()
                if node.kind == "checkpoint" and _step_of(key) >= each.steps[0].step
            ]
        trained = {edge.target for edge in edges}
        checkpoints = since.part(trained & since.nodes.keys())
        to_policy = tuple(edge for edge in since.edges if edge.source in checkpoints.nodes)
        graph = graph.joined(Graph({**nodes, **checkpoints.nodes}, (*edges, *to_policy)))
    return graph


def _step_of(key: str) -> int:
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


@dataclass(frozen=True)
class StepOfPrompt:
    """Rollouts of one prompt at one step."""

    step: int
    rollouts: int
    trained_on: int
    """Number of them in the loss."""
    mean: float
    """Their mean reward, in [0, 1]."""
    low: float
    high: float


@dataclass(frozen=True)
class PromptRollouts:
    """All rollouts of one prompt in one training."""

    policy: str
    """The sha256 of the resulting policy."""
    prompt_id: str
    steps: tuple[StepOfPrompt, ...]
    """In order; never empty."""
    chosen_step: int | None
    """The step of the policy's weights; None if its summary cannot be read."""

    @property
    def part_in_the_policy(self) -> str:
        """Return their role for the policy, whose weights may be from an earlier step."""
        if self.chosen_step is None or self.steps[0].step <= self.chosen_step:
            return "trained"
        return f"sampled after step {self.chosen_step}, whose weights it has"

    @property
    def node(self) -> Node:
        """Return their node, with one fact per step."""
        key = f"rollouts:{self.policy}/{self.prompt_id}"
        facts = {
            f"step {each.step}": f"{each.rollouts} rollouts, reward {each.mean:.3f} ({each.low:.3f}-{each.high:.3f}), "
            f"{each.trained_on} trained on"
            for each in self.steps
        }
        count = sum(each.rollouts for each in self.steps)
        return Node(key, "rollouts", f"{count} rollouts of prompt {short(self.prompt_id)}", facts)


def _read_rollouts(inventory: Inventory, policy: ArtifactRecord, prompt_ids: Collection[str]) -> list[PromptRollouts]:
    """Return a training's rollouts of some prompts; prompts never drawn are left out.

    A log that cannot be read has none; the policy's node says so.
    """
    folder = inventory.folder(policy.sha256)
    logs = [folder / name for name in sorted(policy.files) if is_rollout_log(name)]
    if not logs:
        return []
    reward = pl.col("reward")
    try:
        rows = (
            pl.scan_parquet(logs, glob=False)
            .filter(pl.col("prompt_id").is_in(sorted(prompt_ids)))
            .group_by("prompt_id", "task", "step")
            .agg(pl.len(), pl.col("advantage").count(), reward.mean(), low=reward.min(), high=reward.max())
            .sort("prompt_id", "step")
            .collect()
        )
    except (OSError, PolarsError):
        return []
    chosen = _chosen_steps(folder)
    return [
        PromptRollouts(
            policy.sha256,
            str(prompt_id),
            tuple(StepOfPrompt(*values) for values in steps.drop("prompt_id", "task").iter_rows()),
            chosen.get(str(task)),
        )
        for (prompt_id, task), steps in rows.group_by("prompt_id", "task", maintain_order=True)
    ]


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
