"""Removal of what held or learned a person's rows: artifacts, checkpoints, versions, runs and copies."""

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from flows.runtime.session import EXPERIMENT, artifacts_folder, mirror_address, mlflow_store
from flows.runtime.stores import open_store
from flows.stages.remote import open_shared
from schemas.artifact import ArtifactKind
from schemas.config.config import Config
from schemas.errors import InputError, Interrupted, TucanoError
from schemas.tables.person import Person
from tasks.checkpoints.address import open_mirror, require_folder, trainings
from tasks.checkpoints.manifest import Manifest
from tasks.checkpoints.mirror import CheckpointDamaged, Mirror
from tasks.lineage.mlflow.removal import Removal
from tasks.lineage.privacy.forgetting import Forgetting, named_versions
from tasks.lineage.privacy.identities_left import identities_left
from tasks.lineage.privacy.removal_plan import to_remove
from tasks.lineage.store.inventory import Inventory, read_inventory
from tasks.train.resume.rewind import logged_rollouts

ON_SERVER: Final = (
    "the runs and logged models of what was removed are only marked as deleted on the MLflow server, which keeps their "
    "parameters and files until its operator runs `mlflow gc`"
)


def mark_removed(config: Config, state: Forgetting) -> Forgetting:
    """Fix what is removed, while the records that say so are still there."""
    inventory = read_inventory(artifacts_folder(config))
    gone = to_remove(inventory, state)
    runs = {run for sha256 in gone if (run := inventory.records[sha256].mlflow_run_id) is not None}
    kept_runs = {record.mlflow_run_id for sha256, record in inventory.records.items() if sha256 not in gone}
    named, unread = _trainings_of(config, inventory, gone)
    return state.model_copy(
        update={
            "removed": gone,
            "removed_runs": tuple(sorted(runs - kept_runs)),
            "trainings": tuple(dict.fromkeys((*state.trainings, *named))),
            "unreached": (*state.unreached, *unread),
        }
    )


def remove(config: Config, state: Forgetting) -> Forgetting:
    """Remove what was marked, wherever it is, and name what could not be reached. Repeating it changes nothing more."""
    unreached: list[str] = []

    def reach(what: str, work: Callable[[], object]) -> None:
        try:
            work()
        except Interrupted:
            raise
        except TucanoError as error:
            unreached.append(f"{what} could not be reached ({error})")

    versions = set(state.versions_removed)
    reach("MLflow", partial(_remove_from_mlflow, config, state, versions))
    if left := sorted(set(named_versions(state)) - versions):
        unreached.append(f"{', '.join(left)} may still be registered in MLflow; the same command tries again")
    for training in state.trainings:
        reach(f"the checkpoints of {training} in the mirror", partial(_remove_training, config, training))
    if (shared := config.state.artifacts) is not None:
        reach(f"the shared artifacts in {shared}", partial(require_folder, shared))
        reach(f"the shared artifacts in {shared}", lambda: open_shared(config).remove(state.removed))
    store = open_store(config)
    for sha256 in state.removed:
        store.remove(sha256)
    store.clean_drafts()
    for record in read_inventory(artifacts_folder(config)).records.values():
        store.relink(record.sha256, state.replaced)
    _empty_work(config)
    on_server = mlflow_store(config.state)[1] is None
    return state.model_copy(
        update={
            "unreached": tuple(dict.fromkeys((*state.unreached, *([ON_SERVER] if on_server else [])))),
            "missed": {**state.missed, "remove": tuple(unreached)},
            "versions_removed": tuple(sorted(versions)),
        }
    )


def prove_gone(config: Config, state: Forgetting) -> tuple[str, ...]:
    """Read every table of every artifact again; return a sentence for each that still has an id of theirs."""
    inventory = read_inventory(artifacts_folder(config))
    return tuple(identities_left(inventory, state.identities, bytes.fromhex(state.secret)))


def made_again(config: Config, removed: Mapping[str, ArtifactKind]) -> dict[str, ArtifactKind]:
    """Return the removed artifacts without those that came out the same when they were made again."""
    store = open_store(config)
    return {sha256: kind for sha256, kind in removed.items() if not store.is_whole(sha256)}


def _remove_training(config: Config, training: str) -> None:
    open_mirror(mirror_address(config), training).remove()


def _remove_from_mlflow(config: Config, state: Forgetting, versions: set[str]) -> None:
    """Remove what MLflow has of it; add the versions to those that are known to be removed."""
    removal = Removal(*mlflow_store(config.state), EXPERIMENT)
    # What a promotion named and no search finds was removed before a kill, or by hand.
    versions.update(removal.versions(state.removed), named_versions(state))
    removal.models(state.removed)
    removal.runs(state.removed_runs, state.removed, _runs_that_stay(config, state))
    removal.give_up_space()


def _runs_that_stay(config: Config, state: Forgetting) -> set[str]:
    """Return the runs of the artifacts that are not removed."""
    records = read_inventory(artifacts_folder(config)).records.values()
    return {record.mlflow_run_id for record in records if record.mlflow_run_id and record.sha256 not in state.removed}


def _empty_work(config: Config) -> None:
    """Remove what children left; a served model's child has its folder in use."""
    for folder in (config.state.root / "work").glob("*"):
        if folder.is_dir() and not folder.name.startswith("serve-"):
            shutil.rmtree(folder)


def trainings_with(config: Config, person: Person) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the trainings in the mirror that drew one of a person's prompts, and what could not be read."""

    def drew(mirror: Mirror, manifest: Manifest) -> bool:
        read = partial(mirror.read, manifest)
        return any(prompt in person.prompts for prompt, _ in logged_rollouts(manifest.files, read))

    return _trainings_where(config, drew)


def _trainings_of(
    config: Config, inventory: Inventory, gone: Mapping[str, ArtifactKind]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the trainings in the mirror of policies, or on bases, that are removed, and what could not be read."""
    made = {training for sha256 in gone for training in inventory.records[sha256].stretches}
    # A policy that was made again as it was keeps its checkpoints under its new name only.
    kept = {
        training for record in inventory.of_kind("policy") if record.sha256 not in gone for training in record.stretches
    }
    named, unread = _trainings_where(config, lambda _, manifest: manifest.base in gone)
    return tuple(sorted((made - kept) | set(named))), unread


def _trainings_where(
    config: Config, is_one: Callable[[Mirror, Manifest], bool]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    address = mirror_address(config)
    if config.state.mirror is None and not Path(address).is_dir():
        return (), ()
    found: list[str] = []
    unread: list[str] = []
    try:
        require_folder(address)
        for training in trainings(address):
            mirror = open_mirror(address, training)
            try:
                if any(is_one(mirror, manifest) for manifest in mirror.manifests()[:1]):
                    found.append(training)
            except CheckpointDamaged as error:
                unread.append(f"a checkpoint in the mirror cannot be read ({error})")
    except InputError as error:
        unread.append(f"the mirror {address} could not be read ({error}), so checkpoints there were not looked through")
    return tuple(found), tuple(unread)
