"""Steps of a forgetting: look, plan, make the prompts without a person, remove what held them or learned from them."""

import shutil
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from prefect import flow

from flows.runtime.session import (
    EXPERIMENT,
    artifacts_folder,
    mirror_address,
    mlflow_store,
    open_recorder,
    open_store,
    own_files,
)
from flows.stages.forget_places import (
    FoundPerson,
    has_drawn,
    monitorings_with,
    other_places,
    prompts_of_logs,
    trainings_where,
)
from flows.stages.inputs import dataset_stage, prompts_stage
from flows.stages.remote import open_shared
from flows.stages.runner import Session, StageResult, run_stage
from schemas.artifact import ArtifactKind
from schemas.config.config import Config
from schemas.disk import scratch_folder
from schemas.errors import InputError, Interrupted, TucanoError
from schemas.progress import Progress, silent
from schemas.store.column_map import read_column_map
from schemas.store.store import Person
from schemas.tables.prompts import SPLITS, TRAIN_FILE, read_prompt_table
from tasks.checkpoints.address import BUCKET_SCHEME, open_mirror, require_folder
from tasks.curate import stage as curate_stage
from tasks.curate.files import split_file
from tasks.curate.processes import in_processes
from tasks.lineage.erase.find import AskedKind, reached
from tasks.lineage.erase.plan import Forgetting, identities_left, planned, to_remove
from tasks.lineage.erase.traces import Forms, traces_of
from tasks.lineage.mlflow.recorder import StageRun
from tasks.lineage.mlflow.removal import Removal
from tasks.lineage.store.inventory import read_inventory
from tasks.personal_data.scrub import scrub
from tasks.synthesize.forget import without_person as prompts_without
from tasks.synthesize.own.identities import KEY_FILE, find_known, open_key, pseudonym

ON_SERVER: Final = (
    "the runs and logged models of what was removed are only marked as deleted on the MLflow server, which keeps their "
    "parameters and files until its operator runs `mlflow gc`"
)


def look(config: Config, identifier: str, kind: AskedKind | None) -> FoundPerson:
    """Find what a person's data reached."""
    inventory = read_inventory(artifacts_folder(config))
    root = config.state.root
    found = find_known(root, identifier, partial(reached, inventory, kind=kind))
    known_as = partial(pseudonym, open_key(root)) if (root / KEY_FILE).is_file() else None
    forms = Forms(lambda text: scrub(text)[0], known_as)
    return FoundPerson(found, found.person, traces_of(inventory, found.person, identifier.strip(), forms))


def plan(config: Config, found: FoundPerson, identifier: str, kind: AskedKind | None) -> Forgetting:
    """Return what has to be done, before anything is."""
    inventory = read_inventory(artifacts_folder(config))
    state = planned(inventory, found.reached, config.digest(), identifier.strip(), kind)
    chain = _chain_data(config, state.holding)
    splits: dict[str, int] = {}
    if chain:
        _refuse_too_few(config, {role: inventory.folder(sha256) for role, sha256 in chain.items()}, found.person, state)
        for split in SPLITS:
            rows = read_prompt_table(split_file(inventory.folder(chain["dataset"]), split))
            splits[split] = rows.filter(found.person.theirs(rows.columns)).height
    named, unread = trainings_where(config, partial(has_drawn, found.person))
    monitored, blind = monitorings_with(inventory, found.traces)
    unsearched = (*state.doubts, *unread, *blind, *found.traces.unsearched)
    changed = {
        "data": chain,
        "splits": splits,
        "trainings": named,
        "holding": {**state.holding, **dict.fromkeys(monitored, "monitoring")},
        "unreached": (*unsearched, *prompts_of_logs(inventory), *other_places(config)),
    }
    return state.model_copy(update=changed)


def outlook(config: Config, identifier: str, kind: AskedKind | None) -> dict[str, Any]:
    """Return as a JSON document what a forgetting would do; nothing is changed."""
    found = look(config, identifier, kind)
    state = plan(config, found, identifier, kind)
    gone = to_remove(read_inventory(artifacts_folder(config)), state)
    versions = state.versions_of(gone)
    return {
        "kinds": list(state.kinds),
        "prompts": state.prompts,
        "rows_by_split": state.splits,
        "places": [asdict(place) for place in found.reached.places],
        "artifacts": len(state.holding),
        "learned": len(gone.keys() - state.holding.keys()),
        "made_again": bool(state.data),
        "versions": versions,
        "not_reached": list(state.unreached),
        "to_do": to_do(config, versions),
    }


def refuse_removal_alone(config: Config, state: Forgetting) -> None:
    """Refuse a forgetting that removes registered versions and makes none in their place."""
    versions = state.versions_of(to_remove(read_inventory(artifacts_folder(config)), state))
    if versions and not state.data:
        raise InputError(
            f"{', '.join(versions)} learned from these rows and would be removed with nothing in their place: this "
            "profile's chain does not hold the rows, or its files or settings changed since; give the profile and "
            "files that the models were made with, or --remove-only to remove all the same"
        )


def _chain_data(config: Config, holding: Collection[str]) -> dict[str, str]:
    """Return the prompts that the chain starts from, and their dataset, by role, if they hold a person's rows.

    Where they do not, or prompts of logs are among them, nothing can be made again in their place: they are removed,
    and the next retraining starts from what the shop's tables are then.
    """
    store = open_store(config)
    if config.synthesize.logs is not None:
        return {}
    wanted = prompts_stage(config, None, own_files(config.synthesize, config.state.root)).config_digest
    prompts = next((record for record in store.records("prompts") if record.config_digest == wanted), None)
    if prompts is None or prompts.sha256 not in holding or not store.is_whole(prompts.sha256):
        return {}
    of_prompts = dataset_stage(config, StageResult(prompts, store.path(prompts.sha256), 0.0, reused=True))
    for record in store.records("dataset"):
        of_these = record.inputs.get("prompts") == prompts.sha256
        if of_these and record.config_digest == of_prompts.config_digest and store.is_whole(record.sha256):
            return {"prompts": prompts.sha256, "dataset": record.sha256}
    return {}


def _refuse_too_few(config: Config, before: Mapping[str, Path], person: Person, state: Forgetting) -> None:
    """Make prompts and dataset without a person on trial, and refuse where no training can start from them."""
    with scratch_folder() as work:
        without, made = work / "prompts", work / "dataset"
        without.mkdir()
        made.mkdir()
        try:
            prompts_without(before["prompts"], person, state.key, without)
            curate_stage.run(config.curate, config.policy, without, made, silent, in_processes(config.curate.workers))
        except InputError as error:
            raise InputError(f"without these rows no dataset can be made: {error}") from None
        had, left = (Counter(read_prompt_table(each / TRAIN_FILE)["task"]) for each in (before["dataset"], made))
    fewest = config.train.preflight.min_prompts_per_task
    if short_of := [f"{left[task]} {task}" for task in sorted(had) if left[task] < min(fewest, had[task])]:
        raise InputError(
            f"without these rows there are {' and '.join(short_of)} training prompts, and a task needs {fewest}; raise "
            "synthesize.counts, retrain, and forget then"
        )


def replace_prompts(config: Config, state: Forgetting, person: Person) -> None:
    """Make the prompts without a person, under the key under which the chain looks for them: the rest follows."""
    before, secret = open_store(config).path(state.data["prompts"]), state.key

    def prompts_anew(output: Path, _: Progress, __: StageRun) -> None:
        prompts_without(before, person, secret, output)

    # A closure, since Prefect keeps the parameters of a flow.
    @flow(name="forget", validate_parameters=False)
    def forget() -> None:
        with open_recorder(config).pipeline("forget", {}) as run:
            # The key is the same, as are the settings: what is found under it must be another.
            own = own_files(config.synthesize, config.state.root)
            run_stage(prompts_stage(config, None, own, prompts_anew), Session(config, run), again=True)

    forget()


def made_anew(config: Config, state: Forgetting, stages: Mapping[str, StageResult]) -> Forgetting:
    """Note which artifacts of the chain stay, and which new ones are in the place of old ones."""
    store, dataset = open_store(config), state.data["dataset"]
    learned = [*store.records("base"), *store.records("policy")]
    old = [store.record(sha256) for sha256 in state.data.values()]
    old += [each for each in learned if each.inputs.get("dataset") == dataset]
    replaced = {
        record.sha256: new.record.sha256
        for record in old
        for new in stages.values()
        if (new.record.kind, new.record.config_digest) == (record.kind, record.config_digest)
        and new.record.sha256 != record.sha256
    }
    kept = tuple(sorted({result.record.sha256 for result in stages.values()}))
    return state.model_copy(update={"replaced": replaced, "kept": kept})


def mark_removed(config: Config, state: Forgetting) -> Forgetting:
    """Fix what is removed, while the records that say so are still there."""
    inventory = read_inventory(artifacts_folder(config))
    gone = to_remove(inventory, state)
    runs = {run for sha256 in gone if (run := inventory.records[sha256].mlflow_run_id) is not None}
    kept_runs = {record.mlflow_run_id for sha256, record in inventory.records.items() if sha256 not in gone}
    made = {training for sha256 in gone for training in inventory.records[sha256].stretches}
    # A policy that was made again as it was keeps its checkpoints under its new name only.
    policies = [record for record in inventory.of_kind("policy") if record.sha256 not in gone]
    kept = {training for record in policies for training in record.stretches}
    on_them, unread = trainings_where(config, lambda _, manifest: manifest.base in gone)
    changed = {
        "removed": gone,
        "removed_runs": tuple(sorted(runs - kept_runs)),
        "trainings": tuple(dict.fromkeys((*state.trainings, *sorted((made - kept) | set(on_them))))),
        "unreached": (*state.unreached, *unread),
    }
    return state.model_copy(update=changed)


def remove(config: Config, state: Forgetting) -> Forgetting:
    """Remove what was marked, name what could not be reached, and read every table again; repeatable."""
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
    if left := sorted(set(state.versions_of(state.removed)) - versions):
        unreached.append(f"{', '.join(left)} may still be registered in MLflow; the same command tries again")
    for training in state.trainings:
        place = f"the checkpoints of {training} in the mirror"
        reach(place, partial(lambda name: open_mirror(mirror_address(config), name).remove(), training))
    if (shared := config.state.artifacts) is not None:
        reach(f"the shared artifacts in {shared}", partial(require_folder, shared))
        known = read_inventory(artifacts_folder(config)).records
        digests = {each for sha256 in state.removed.keys() & known.keys() for each in known[sha256].files.values()}
        reach(f"the shared artifacts in {shared}", lambda: open_shared(config).remove(state.removed, digests))
    store = open_store(config)
    for sha256 in state.removed:
        store.remove(sha256)
    store.clean_drafts()
    for sha256 in read_inventory(artifacts_folder(config)).records:
        store.relink(sha256, state.replaced)
    for folder in {*(config.state.root / "work").glob("*/")} - {*(config.state.root / "work").glob("serve-*/")}:
        shutil.rmtree(folder)
    on_server = mlflow_store(config.state)[1] is None
    inventory = read_inventory(artifacts_folder(config))
    changed = {
        "unreached": tuple(dict.fromkeys((*state.unreached, *([ON_SERVER] if on_server else [])))),
        "missed": {**state.missed, "remove": tuple(unreached)},
        "versions_removed": tuple(sorted(versions)),
        "left": tuple(identities_left(inventory, state.identities, state.key)),
    }
    return state.model_copy(update=changed)


def made_again(config: Config, removed: Mapping[str, ArtifactKind]) -> dict[str, ArtifactKind]:
    """Return the removed artifacts without those that came out the same when they were made again."""
    store = open_store(config)
    return {sha256: kind for sha256, kind in removed.items() if not store.is_whole(sha256)}


def _remove_from_mlflow(config: Config, state: Forgetting, versions: set[str]) -> None:
    """Remove what MLflow has of it; add the versions to those that are known to be removed."""
    removal = Removal(*mlflow_store(config.state), EXPERIMENT)
    # A version that a promotion named and no search finds was removed before a kill, or by hand.
    versions.update(removal.versions(state.removed), state.versions_of(state.removed))
    removal.models(state.removed)
    records = read_inventory(artifacts_folder(config)).records.values()
    stay = {each.mlflow_run_id for each in records if each.mlflow_run_id and each.sha256 not in state.removed}
    removal.runs(state.removed_runs, state.removed, stay)
    removal.give_up_space()


def to_do(config: Config, versions: Collection[str]) -> list[str]:
    """Return a sentence for each thing that only people can do."""
    found = []
    if config.synthesize.olist_dir is not None:
        found.append(f"take the rows out of {config.synthesize.olist_dir} too: the next synthesis reads it")
    if config.synthesize.files is not None:
        files = f"the files of {config.synthesize.files}"
        with suppress(InputError):  # A map that was changed meanwhile hinders nobody from being forgotten.
            files = ", ".join(map(str, read_column_map(config.synthesize.files).files))
        found.append(f"take the rows out of {files} too, once this has ended: the next synthesis reads them")
    if versions:
        found.append(f"delete what was exported or downloaded of {', '.join(versions)}, which nothing here knows of")
    for name, place in {"state.mirror": config.state.mirror, "state.artifacts": config.state.artifacts}.items():
        if place is not None and str(place).startswith(BUCKET_SCHEME):
            found.append(f"see that the bucket of {name} keeps no soft-deleted objects")
    return found
