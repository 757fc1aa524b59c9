"""Mirrored trainings of a policy: their segments on machines, and their remaining checkpoints.

The mirror is read elsewhere and passed in. A policy's record names its trainings; otherwise one is found by its bytes:
one of its checkpoints has exactly the weights of the policy's adapter.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from schemas.artifact import ArtifactRecord, TrainingSegment
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.store.inventory import short

WEIGHTS_SUFFIX: Final = "adapter_model.safetensors"


@dataclass(frozen=True)
class TrainingCheckpoint:
    """Checkpoint still in the mirror."""

    step: int
    fencing: int
    created_at: datetime
    base: str
    reward: float | None
    """The validation reward of its step, in [0, 1]; None if not validated."""
    digests: frozenset[str]


@dataclass(frozen=True)
class MirroredTraining:
    """Training in a mirror."""

    name: str
    segments: tuple[TrainingSegment, ...]
    checkpoints: tuple[TrainingCheckpoint, ...]


ReadTrainings = Callable[[], Sequence[MirroredTraining]]
"""Returns the mirror's trainings; possibly slow, and called only where they are shown."""


def trainings_of(policy: ArtifactRecord, trainings: Iterable[MirroredTraining]) -> list[MirroredTraining]:
    """Return the trainings that made a policy; several if each task was trained alone."""
    if policy.stretches:
        known = {training.name: training for training in trainings}
        return [known.get(name, MirroredTraining(name, segments, ())) for name, segments in policy.stretches.items()]
    weights = _weights(policy)
    return [each for each in trainings if any(checkpoint.digests & weights for checkpoint in each.checkpoints)]


def training_graph(policy: ArtifactRecord, trainings: Sequence[MirroredTraining]) -> Graph:
    """Return a policy's trainings and their checkpoints, between it and its inputs' own nodes."""
    weights = _weights(policy)
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    for training in trainings_of(policy, trainings):
        key = f"training:{training.name}"
        nodes[key] = Node(key, "training", f"training {training.name}", dict(_facts(training)))
        edges += [Edge(sha256, key, role) for role, sha256 in policy.inputs.items()]
        edges.append(Edge(key, policy.sha256, "trained"))
        for checkpoint in sorted(training.checkpoints, key=lambda each: (each.step, each.fencing)):
            node = _checkpoint(training, checkpoint)
            nodes[node.key] = node
            edges.append(Edge(key, node.key, "saved"))
            if checkpoint.digests & weights:
                edges.append(Edge(node.key, policy.sha256, "its weights"))
    return Graph(nodes, tuple(edges))


def _checkpoint(training: MirroredTraining, checkpoint: TrainingCheckpoint) -> Node:
    facts = {"saved": f"{checkpoint.created_at:%Y-%m-%d %H:%M} UTC"}
    if checkpoint.reward is not None:
        facts["validation reward"] = f"{checkpoint.reward:.3f}"
    key = f"checkpoint:{training.name}/{checkpoint.step:08d}-{checkpoint.fencing:08d}"
    return Node(key, "checkpoint", f"checkpoint of step {checkpoint.step}", facts)


def _facts(training: MirroredTraining) -> Iterator[tuple[str, str]]:
    for number, segment in enumerate(training.segments, start=1):
        last = "" if segment.to_step is None else str(segment.to_step)
        began = f"{segment.began_at:%Y-%m-%d %H:%M} UTC"
        # The key in the JSON document stays.
        yield (
            f"stretch {number}",
            f"steps {segment.from_step}-{last} on {segment.machine} from {began}, {segment.ended or 'under way'}",
        )
    if training.checkpoints:
        yield "base", short(training.checkpoints[0].base)
        yield "checkpoints left", "steps " + ", ".join(map(str, sorted({each.step for each in training.checkpoints})))


def _weights(policy: ArtifactRecord) -> set[str]:
    return {sha256 for name, sha256 in policy.files.items() if name.endswith(WEIGHTS_SUFFIX)}
