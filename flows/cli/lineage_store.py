"""Lineage of a state folder: its artifacts, its mirror and its registry."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from flows.runtime.console import warn
from flows.runtime.session import EXPERIMENT, artifacts_folder, mirror_address, mlflow_store
from flows.runtime.stores import existing_store, read_registry
from schemas.artifact import TrainingSegment
from schemas.config.config import Config
from schemas.errors import InputError
from tasks.checkpoints.address import open_mirror, trainings
from tasks.checkpoints.manifest import REWARD, Manifest
from tasks.checkpoints.segments import Segment, read_segments
from tasks.lineage.graph.models import local_aliases, read_versions
from tasks.lineage.graph.references import Registered
from tasks.lineage.graph.trainings import MirroredTraining, TrainingCheckpoint
from tasks.lineage.graph.walk import Walker
from tasks.lineage.mlflow.runs import artifacts_of_run
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.lineage.store.inventory import Inventory, read_inventory

AT_ONCE = 8


def artifact_store(config: Config) -> ArtifactStore:
    """Open the artifact store, read-only.

    Raises:
        InputError: The state folder has no artifacts.
    """
    return existing_store(config, "nothing came from anything there")


def open_inventory(config: Config) -> Inventory:
    """Read every record of the artifact store.

    Raises:
        InputError: The state folder has no artifacts.
    """
    artifact_store(config)
    return read_inventory(artifacts_folder(config))


def open_walker(config: Config) -> Walker:
    """Open a state folder's lineage for walks.

    The mirror is read only where a walk shows its content, and MLflow imported only where nothing else knows a
    reference.

    Raises:
        InputError: The state folder has no artifacts.
    """
    inventory = open_inventory(config)
    uri, local = mlflow_store(config.state)
    model = config.promote.model_name

    def ask_alias(alias: str) -> str | None:
        if local is not None:
            return None  # All artifacts of a local store are known already.

        holder = read_registry(config).holder(model, alias)
        return holder.version if holder else None

    def ask_run(run_id: str) -> Sequence[str]:
        if local is not None and not local.parent.is_dir():
            return ()  # Opening the store would create it.

        return artifacts_of_run(uri, EXPERIMENT, run_id)

    known = Registered(model, local_aliases(uri, model), ask_alias, ask_run)
    return Walker(inventory, read_versions(inventory), partial(_trainings, config), known)


def _trainings(config: Config) -> tuple[MirroredTraining, ...]:
    """Read the mirror; an unreadable mirror does not keep the rest of the lineage from being shown."""
    address = mirror_address(config)
    if config.state.mirror is None and not (config.state.root / "mirror").is_dir():
        return ()

    try:
        return read_trainings(address)
    except InputError as error:
        warn(f"{error}; the checkpoints and machines of trainings are not shown")
        return ()


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
        tuple(map(_segment, read_segments(mirror.store, mirror.root))),
        tuple(map(_checkpoint, mirror.manifests())),
    )


def _segment(segment: Segment) -> TrainingSegment:
    return TrainingSegment.model_validate(segment.model_dump())


def _checkpoint(manifest: Manifest) -> TrainingCheckpoint:
    return TrainingCheckpoint(
        manifest.step,
        manifest.fencing,
        manifest.created_at,
        manifest.base,
        manifest.metrics.get(REWARD),
        frozenset(file.sha256 for file in manifest.files.values()),
    )
