"""Trainings in the mirror as the lineage takes them: segments and checkpoints, by plain values."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from schemas.artifact import TrainingStretch
from tasks.checkpoints.address import open_mirror, trainings
from tasks.checkpoints.manifest import Manifest
from tasks.checkpoints.stretches import Stretch, read_stretches
from tasks.lineage.graph.trainings import MirroredTraining, TrainingCheckpoint

AT_ONCE = 8
REWARD = "reward"
"""Metric of a checkpoint that is its validation reward."""


def read_trainings(address: str) -> tuple[MirroredTraining, ...]:
    """Read the segments and manifests of every training in a mirror; a damaged manifest is skipped.

    Raises:
        InputError: The mirror cannot be read.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return tuple(pool.map(partial(_read_training, address), trainings(address)))


def _read_training(address: str, training: str) -> MirroredTraining:
    mirror = open_mirror(address, training)
    return MirroredTraining(
        training,
        tuple(map(_stretch, read_stretches(mirror.store, mirror.root))),
        tuple(map(_checkpoint, mirror.manifests())),
    )


def _stretch(stretch: Stretch) -> TrainingStretch:
    return TrainingStretch.model_validate(stretch.model_dump())


def _checkpoint(manifest: Manifest) -> TrainingCheckpoint:
    return TrainingCheckpoint(
        manifest.step,
        manifest.fencing,
        manifest.created_at,
        manifest.base,
        manifest.metrics.get(REWARD),
        frozenset(file.sha256 for file in manifest.files.values()),
    )
