"""Places outside of artifacts that may have a person: looked through for a plan; logs and sheets are cleaned first."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from flows.runtime.session import EXPERIMENT, mirror_address, mlflow_store, served_logs
from flows.stages.inputs import SERVED_PROMPTS_FOLDER
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.store.files import finish_replacement, read_store, replace_store
from schemas.store.store import Person
from schemas.tables.production_logs import FEEDBACK_FOLDER
from schemas.tables.summaries import PromptsSummary
from tasks.audit.forget import remove_given, remove_prompts
from tasks.audit.stage import files_of
from tasks.checkpoints.address import open_mirror, require_folder, trainings
from tasks.checkpoints.manifest import Manifest
from tasks.checkpoints.mirror import CheckpointDamaged, Mirror
from tasks.lineage.erase.find import Reached
from tasks.lineage.erase.log_lines import RemovedLines, holds_them, remove_lines
from tasks.lineage.erase.plan import Forgetting
from tasks.lineage.erase.traces import Traces
from tasks.lineage.mlflow.removal import Removal
from tasks.lineage.store.inventory import Inventory, short
from tasks.serve.gateway.answer_log import LOCK_FILE
from tasks.synthesize.forget import anonymous
from tasks.train.resume.state_files import sampled_prompts

MONITORED_FILE: Final = "answers.parquet"
SCORES_FOLDER: Final = "scores"
NOBODY: Final = Person(frozenset(), frozenset(), frozenset(), frozenset())
NO_TRACES: Final = Traces(frozenset(), (), ())


@dataclass(frozen=True)
class FoundPerson:
    """The reach of a person's data, and the means to find them; only in memory."""

    reached: Reached
    person: Person
    traces: Traces


def require_logs(config: Config) -> None:
    """Refuse to begin while a gateway writes to the logs, or where one, a sheet or the references cannot be read."""
    # A removal of nothing reads all the same.
    if faults := _clean(config, NOBODY, NO_TRACES)[1]:
        raise InputError(f"{'; '.join(faults)}; nothing was removed now: see to it, and give the same command again")


def clean_logs(config: Config, state: Forgetting, found: FoundPerson) -> Forgetting:
    """Take a person's lines out of logs, sheets, references and traces; out of none unless all logs can be read."""
    require_logs(config)
    done, unreached = _clean(config, found.person, found.traces, state.key)
    # Earlier versions kept a paraphrasing model's answers there.
    shutil.rmtree(config.state.root / "paraphrases", ignore_errors=True)
    lines, in_doubt, by_text = Counter(state.log_lines), dict(state.lines_in_doubt), state.lines_by_text
    for name, removed in done:
        lines[name] += removed.count
        in_doubt |= removed.doubtful
        by_text += removed.by.get("text", 0)
    changed = {"log_lines": dict(lines), "lines_by_text": by_text, "lines_in_doubt": in_doubt}
    return state.model_copy(update={**changed, "missed": {**state.missed, "logs": unreached}})


def _clean(
    config: Config, person: Person, traces: Traces, secret: bytes = b""
) -> tuple[list[tuple[str, RemovedLines]], tuple[str, ...]]:
    """Return what left each place, by the name under which it is counted, and what could not be cleaned."""
    done, faults = list[tuple[str, RemovedLines]](), list[str]()
    for name, where, work in _works(config, person, traces, secret):
        try:
            removed = work()
        except InputError as error:
            faults.append(str(error))
        except OSError as error:
            faults.append(f"{where} could not be cleaned ({error})")
        else:
            removed = removed if isinstance(removed, RemovedLines) else RemovedLines({"id": removed}, {})
            done.append((name, removed))
            faults += removed.unreached
    return done, tuple(faults)


def _works(
    config: Config, person: Person, traces: Traces, secret: bytes
) -> Iterator[tuple[str, str, Callable[[], RemovedLines | int]]]:
    """Yield the name of a place, the place in a sentence, and what cleans it; of nobody, only what is in files."""
    root = config.state.root.resolve()
    named = (served_logs(config), root / SERVED_PROMPTS_FOLDER, config.monitor.logs, config.synthesize.logs)
    logs = dict.fromkeys(place.resolve() for place in named if place is not None and place.exists())
    for place in logs:
        if place.is_relative_to(root) and place.parent not in logs:
            yield place.relative_to(root).as_posix(), f"the log {place}", partial(_clean_log, place, traces)
    for folder in sorted((config.state.root / SCORES_FOLDER).glob("*/")):
        files, where = files_of(folder), f"the sheet of {folder}"
        if files.sheet.is_file():
            yield SCORES_FOLDER, where, partial(remove_prompts, files.sheet, person.prompts)
            yield SCORES_FOLDER, where, partial(remove_lines, folder, traces)
            if person != NOBODY:
                yield SCORES_FOLDER, where, partial(_anonymize, files.store, person, secret)
    if person != NOBODY:
        yield "traces", "MLflow", lambda: Removal(*mlflow_store(config.state), EXPERIMENT).traces(traces.are_in_json)
    if (references := config.curate.references) is not None:
        # Before the dataset is made without them, whose key is of this file.
        yield "references", f"the file {references}", partial(remove_given, references, person.prompts)


def _anonymize(store: Path, person: Person, secret: bytes) -> int:
    finish_replacement(store)
    if store.is_dir():
        replace_store(anonymous(read_store(store), person, secret), store)
    return 0


def _clean_log(place: Path, traces: Traces) -> RemovedLines:
    """Clean some logs while nobody writes to them, as a gateway would."""
    with ExitStack() as stack:
        folder = place if place.is_dir() else place.parent
        for locked in (folder, folder / FEEDBACK_FOLDER):
            if (locked / LOCK_FILE).exists():
                try:
                    stack.enter_context(FileLock(locked / LOCK_FILE, timeout=0))
                except Timeout:
                    raise InputError(f"a gateway writes to the logs {folder}: end it, and forget again") from None
        return remove_lines(place, traces)


def has_drawn(person: Person, mirror: Mirror, manifest: Manifest) -> bool:
    """Return whether a training drew a prompt of a person up to a checkpoint."""
    return not person.prompts.isdisjoint(sampled_prompts(manifest.files, partial(mirror.read, manifest)))


def trainings_where(
    config: Config, is_one: Callable[[Mirror, Manifest], bool]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the trainings in the mirror whose newest checkpoint is such a one, and what could not be read."""
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


def monitorings_with(inventory: Inventory, traces: Traces) -> tuple[list[str], list[str]]:
    """Return the monitorings whose copies of production have a person's words, and what could not be read."""
    found: list[str] = []
    unread: list[str] = []
    for record in inventory.of_kind("monitoring"):
        try:
            if MONITORED_FILE in record.files and holds_them(inventory.folder(record.sha256) / MONITORED_FILE, traces):
                found.append(record.sha256)
        except InputError as error:
            unread.append(f"{error}, so nobody was looked for in it")
    return found, unread


def prompts_of_logs(inventory: Inventory) -> Iterator[str]:
    """Yield a sentence for each artifact with prompts of production, which have no ids."""
    for record in inventory.of_kind("prompts"):
        # One that cannot be read is among what cannot be searched, or an older one.
        with suppress(OSError, ValueError):
            if count := sum((PromptsSummary.read(inventory.folder(record.sha256)).served or {}).values()):
                yield (
                    f"prompts {short(record.sha256)} has {count} prompts of logs, which have no ids, so nobody was "
                    "looked for among them"
                )


def other_places(config: Config) -> Iterator[str]:
    """Yield a sentence for each place outside of the state folder that may have the person."""
    if (deployment := config.workers.training or config.workers.inference) is not None:
        yield (
            f"the machine of the deployment {deployment} has artifacts and checkpoints of its own: run "
            "the same command there with --set state.root=FOLDER/trainer"
        )
    for name, path in {"monitor.logs": config.monitor.logs, "synthesize.logs": config.synthesize.logs}.items():
        if path is not None and not path.resolve().is_relative_to(config.state.root.resolve()):
            yield f"{name} {path} is outside of the state folder, and was not looked through"
