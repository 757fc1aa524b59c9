"""Forgetting of a person, step by step: logs, data, weights, and all that held or learned what is gone."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from prefect import flow

from flows.runtime.own_files import own_files
from flows.runtime.session import artifacts_folder
from flows.runtime.stores import open_recorder, open_store
from flows.stages.curate import dataset_stage
from flows.stages.removal import trainings_with
from flows.stages.rewind import foreseen
from flows.stages.runner import Session, StageResult, run_stage
from flows.stages.synthesize import prompts_stage
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.store.column_map import read_column_map
from schemas.tables.person import Person
from schemas.tables.prompts import SPLITS, read_prompts
from schemas.tables.prompts_summary import PromptsSummary
from tasks.curate.files import split_file
from tasks.curate.forget import is_theirs, refuse_too_few
from tasks.curate.forget import without_person as dataset_without
from tasks.lineage.mlflow.recorder import StageRun
from tasks.lineage.privacy.forget import AskedKind, Reached, reached
from tasks.lineage.privacy.forgetting import Forgetting, Retraced
from tasks.lineage.privacy.log_lines import holds_them
from tasks.lineage.privacy.removal_plan import planned, to_remove
from tasks.lineage.privacy.traces import Forms, Traces, traces_of
from tasks.lineage.store.inventory import Inventory, read_inventory, short
from tasks.personal_data.scrub import scrub
from tasks.synthesize.forget import without_person as prompts_without
from tasks.synthesize.own.identities import KEY_FILE, find_known, open_key, pseudonym

DATA_STAGES: Final = {"prompts": "synthesize", "dataset": "curate"}
"""Stages whose artifacts are made again without the person, by role: all others are made from these."""
ANSWERS_FILE: Final = "answers.parquet"


@dataclass(frozen=True)
class FoundPerson:
    """What a person's data reached, and what finds them; only in memory."""

    reached: Reached
    person: Person
    traces: Traces


def look(config: Config, identifier: str, kind: AskedKind | None) -> FoundPerson:
    """Find what a person's data reached.

    Raises:
        InputError: Nothing has the identifier, or several persons' things have it.
    """
    inventory = read_inventory(artifacts_folder(config))
    root = config.state.root
    found = find_known(root, identifier, partial(reached, inventory, kind=kind))
    known_as = partial(pseudonym, open_key(root)) if (root / KEY_FILE).is_file() else None
    forms = Forms(lambda text: scrub(text)[0], known_as)
    return FoundPerson(found, found.person, traces_of(inventory, found.person, identifier.strip(), forms))


def plan(config: Config, found: FoundPerson, subject: str) -> Forgetting:
    """Return what has to be done, before anything is.

    Raises:
        InputError: Too few rows would be left to make the models again.
    """
    inventory = read_inventory(artifacts_folder(config))
    state = planned(inventory, found.reached, subject, config.digest())
    chain = chain_data(config, state.holding)
    splits: dict[str, int] = {}
    if chain:
        folder = inventory.folder(chain["dataset"])
        refuse_too_few(folder, found.person, config.train.preflight.min_prompts_per_task)
        splits = {
            split: sum(is_theirs(row, found.person) for row in read_prompts(split_file(folder, split)))
            for split in SPLITS
        }
    named, unread = trainings_with(config, found.person)
    monitored, blind = _monitorings_with(inventory, found.traces)
    return state.model_copy(
        update={
            "data": chain,
            "splits": splits,
            "trainings": named,
            "holding": {**state.holding, **dict.fromkeys(monitored, "monitoring")},
            "unreached": (
                *state.doubts,
                *unread,
                *blind,
                *found.traces.unsearched,
                *_of_logs(inventory),
                *_elsewhere(config),
            ),
        }
    )


def refuse_removal_alone(config: Config, state: Forgetting) -> None:
    """Refuse a forgetting that removes registered versions and makes none in their place.

    Raises:
        InputError: It would, as where the shop's files were changed before.
    """
    versions = versions_gone(to_remove(read_inventory(artifacts_folder(config)), state), state)
    if versions and not state.data:
        raise InputError(
            f"{', '.join(versions)} learned from these rows and would be removed with nothing in their place: this "
            "profile's chain does not hold the rows, or its files or settings changed since; give the profile and "
            "files that the models were made with, or --remove-only to remove all the same"
        )


def versions_gone(gone: Collection[str], state: Forgetting) -> list[str]:
    """Return the registered versions that go with some artifacts."""
    return sorted({name for sha256, name in state.versions.items() if sha256 in gone})


def outlook(config: Config, identifier: str, kind: AskedKind | None) -> dict[str, Any]:
    """Return as a JSON document what a forgetting would do; nothing is changed.

    Raises:
        InputError: As of `look` and `plan`.
    """
    found = look(config, identifier, kind)
    state = plan(config, found, "")
    inventory = read_inventory(artifacts_folder(config))
    gone = to_remove(inventory, state)
    before = old_data(config, state)
    versions = versions_gone(gone, state)
    retraced: tuple[Retraced, ...] = ()
    if before:
        with TemporaryDirectory() as work:
            data = {role: Path(work) / role for role in before}
            old = {role: inventory.folder(record.sha256) for role, record in before.items()}
            for folder in data.values():
                folder.mkdir()
            # As `replace_data` makes them: a query may earn otherwise on the store without the person.
            prompts_without(old["prompts"], found.person, bytes.fromhex(state.secret), data["prompts"])
            dataset_without(old["dataset"], found.person, data["dataset"])
            retraced = foreseen(config, before, data, found.person)
    return {
        "kinds": list(state.kinds),
        "prompts": state.prompts,
        "rows_by_split": state.splits,
        "artifacts": len(state.holding),
        "learned": len(gone.keys() - state.holding.keys()),
        "made_again": bool(before),
        "trainings": [each.model_dump() for each in retraced],
        "versions": versions,
        "not_reached": list(state.unreached),
        "to_do": list(to_do(config, versions)),
    }


def old_data(config: Config, state: Forgetting) -> dict[str, ArtifactRecord]:
    """Return the records of the prompts and the dataset that are made again, by role; none where there are none."""
    store = open_store(config)
    return {role: store.record(sha256) for role, sha256 in state.data.items()}


def chain_data(config: Config, holding: Collection[str]) -> dict[str, str]:
    """Return the prompts and the dataset that the chain starts from, by role, if they hold a person's rows.

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


def replace_data(config: Config, state: Forgetting, person: Person) -> Mapping[str, StageResult]:
    """Make the prompts and the dataset without a person, under the keys under which the chain looks for them.

    Returns:
        The new artifacts by role; empty where the chain holds nothing of them.
    """
    old = old_data(config, state)
    if not old:
        return {}
    store = open_store(config)
    before = {role: store.path(record.sha256) for role, record in old.items()}
    secret = bytes.fromhex(state.secret)

    def prompts_anew(output: Path, _: Progress, __: StageRun) -> None:
        prompts_without(before["prompts"], person, secret, output)

    def dataset_anew(output: Path, _: Progress, __: StageRun) -> None:
        dataset_without(before["dataset"], person, output, config.curate.references)

    # A closure, since Prefect keeps the parameters of a flow.
    @flow(name="forget", validate_parameters=False)
    def forget() -> dict[str, StageResult]:
        with open_recorder(config).pipeline("forget", {}) as run:
            session = Session(config, run)
            # The key is the same, as are the settings: what is found under it must be another.
            own = own_files(config.synthesize, config.state.root)
            prompts = run_stage(prompts_stage(config, None, own, prompts_anew), session, again=True)
            dataset = run_stage(dataset_stage(config, prompts, dataset_anew), session)
            return {"prompts": prompts, "dataset": dataset}

    made: dict[str, StageResult] = forget()
    return made


def replaced_by(config: Config, old: Mapping[str, ArtifactRecord], stages: Mapping[str, StageResult]) -> dict[str, str]:
    """Return the sha256 of each new artifact by that of the one in whose place it is."""
    store = open_store(config)
    found = {old[role].sha256: stages[name].record.sha256 for role, name in DATA_STAGES.items()}
    for kind in ("base", "policy"):
        for record in store.records(kind):
            if record.inputs.get("dataset") != old["dataset"].sha256:
                continue
            for result in stages.values():
                new = result.record
                if new.kind == kind and new.config_digest == record.config_digest and new.sha256 != record.sha256:
                    found[record.sha256] = new.sha256
    return found


def _monitorings_with(inventory: Inventory, traces: Traces) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the monitorings whose copies of production have a person's words, and what could not be read."""
    found: list[str] = []
    unread: list[str] = []
    for record in inventory.of_kind("monitoring"):
        try:
            if ANSWERS_FILE in record.files and holds_them(inventory.folder(record.sha256) / ANSWERS_FILE, traces):
                found.append(record.sha256)
        except InputError as error:
            unread.append(f"{error}, so nobody was looked for in it")
    return tuple(found), tuple(unread)


def _of_logs(inventory: Inventory) -> Iterator[str]:
    """Yield a sentence for each artifact with prompts of production, which have no ids."""
    for record in inventory.of_kind("prompts"):
        try:
            served = PromptsSummary.read(inventory.folder(record.sha256)).served or {}
        except (OSError, ValueError):
            continue  # It is among what cannot be searched, or an older one.
        if any(served.values()):
            yield (
                f"prompts {short(record.sha256)} has {sum(served.values())} prompts of logs, which have no ids, so "
                "nobody was looked for among them"
            )


def _elsewhere(config: Config) -> tuple[str, ...]:
    """Return a sentence for each place outside of the state folder that may have the person."""
    root = config.state.root.resolve()
    found: list[str] = []
    if config.workers.training is not None:
        found.append(
            f"the machine of the deployment {config.workers.training} has artifacts and checkpoints of its own: run "
            "the same command there with --set state.root=FOLDER/trainer"
        )
    logs = {"monitor.logs": config.monitor.logs, "synthesize.logs": config.synthesize.logs}
    found += [
        f"{name} {path} is outside of the state folder, and was not looked through"
        for name, path in logs.items()
        if path is not None and not path.resolve().is_relative_to(root)
    ]
    return tuple(found)


def to_do(config: Config, versions: Collection[str]) -> tuple[str, ...]:
    """Return a sentence for each thing that only people can do.

    Args:
        config: The configuration.
        versions: The registered versions that are removed.
    """
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
    return tuple(found)
