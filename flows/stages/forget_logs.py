"""Lines of a person in the logs of a served model, and in the sheets that people score."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from flows.runtime.session import EXPERIMENT, mlflow_store
from flows.runtime.stores import served_logs
from flows.stages.synthesize import SERVED_PROMPTS_FOLDER
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.store.files import finish_replacement, read_store, replace_store
from schemas.tables.log_file import FEEDBACK_FOLDER
from schemas.tables.person import Person
from tasks.audit.forget import remove_given, remove_prompts
from tasks.audit.stage import AuditFiles, files_of
from tasks.lineage.mlflow.removal import Removal
from tasks.lineage.privacy.log_lines import RemovedLines, remove_lines, unreadable
from tasks.lineage.privacy.traces import Traces
from tasks.serve.gateway.answer_log import LOCK_FILE
from tasks.synthesize.forget import anonymous
from tasks.synthesize.stage import ANSWERS_FOLDER

SCORES_FOLDER: Final = "scores"
NOBODYS: Final[frozenset[str]] = frozenset()
"""No prompts."""


@dataclass(frozen=True)
class CleanedLogs:
    """What left logs and sheets."""

    lines: Mapping[str, int]
    """Number of lines taken out of each kind."""
    by_text: int
    """Number of them that their text alone found."""
    doubtful: Mapping[str, int]
    """Number of lines that stay, as they may be somebody else's, by file."""
    unreached: tuple[str, ...]
    """A sentence on each log that was not reached."""


def clean_logs(config: Config, person: Person, traces: Traces, secret: bytes) -> CleanedLogs:
    """Take a person's lines out of the logs and of the sheets that people score; out of none unless all can be read."""
    root = config.state.root
    if faults := _faults(config):
        return CleanedLogs({}, 0, {}, faults)
    lines: Counter[str] = Counter()
    by_text = 0
    doubtful: dict[str, int] = {}
    unreached: list[str] = []

    def count(name: str, removed: RemovedLines) -> None:
        nonlocal by_text
        lines[name] += removed.count
        by_text += removed.by.get("text", 0)
        doubtful.update(removed.doubtful)
        unreached.extend(removed.unreached)

    for place in _logs_of(config):
        try:
            with _alone(place):
                count(place.relative_to(root.resolve()).as_posix(), remove_lines(place, traces))
        except InputError as error:
            unreached.append(str(error))
    for folder in _sheets_of(config):
        try:
            rows, removed = _clean_sheet(files_of(folder), person, traces, secret)
        except (OSError, InputError) as error:
            unreached.append(f"the sheet of {folder} could not be cleaned ({error})")
        else:
            lines[SCORES_FOLDER] += rows
            count(SCORES_FOLDER, removed)
    try:
        removal = Removal(*mlflow_store(config.state), EXPERIMENT)
        lines["traces"] = removal.traces(traces.are_in_json)
    except InputError as error:
        unreached.append(f"MLflow's traces could not be reached ({error}), so nobody was looked for in them")
    # What a paraphrasing model answered is asked for again where it is wanted.
    shutil.rmtree(root / ANSWERS_FOLDER, ignore_errors=True)
    return CleanedLogs(dict(lines), by_text, doubtful, tuple(unreached))


def require_logs(config: Config) -> None:
    """Refuse to begin while a gateway writes to the logs, or where one, a sheet or the references cannot be read.

    Raises:
        InputError: So it is.
    """
    if faults := _faults(config):
        raise InputError(f"{'; '.join(faults)}; nothing was removed yet: see to it, and give the same command again")


def _faults(config: Config) -> tuple[str, ...]:
    found: list[str] = []
    for place in _logs_of(config):
        try:
            with _alone(place):
                found += unreadable(place)
        except InputError as error:
            found.append(str(error))
    for folder in _sheets_of(config):
        found += unreadable(folder)
        if files_of(folder).sheet.is_file():
            found += _refusal(partial(remove_prompts, files_of(folder).sheet, NOBODYS))
    if config.curate.references is not None:
        found += _refusal(partial(remove_given, config.curate.references, NOBODYS))
    return tuple(found)


def _refusal(removal: Callable[[], object]) -> tuple[str, ...]:
    """Return why a removal of nothing, which reads all the same, is refused."""
    try:
        removal()
    except InputError as error:
        return (str(error),)
    return ()


def _logs_of(config: Config) -> list[Path]:
    """Return the folders and files of logs in the state folder, each once."""
    root = config.state.root.resolve()
    named = (served_logs(config), root / SERVED_PROMPTS_FOLDER, config.monitor.logs, config.synthesize.logs)
    places = dict.fromkeys(place.resolve() for place in named if place is not None and place.exists())
    return [place for place in places if place.is_relative_to(root) and place.parent not in places]


def _sheets_of(config: Config) -> list[Path]:
    return sorted((config.state.root / SCORES_FOLDER).glob("*/"))


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Hold some logs, to which a gateway would go on writing.

    Raises:
        InputError: A gateway writes to it.
    """
    with ExitStack() as stack:
        folder = place if place.is_dir() else place.parent
        for locked in (folder, folder / FEEDBACK_FOLDER):
            if (locked / LOCK_FILE).exists():
                try:
                    stack.enter_context(FileLock(locked / LOCK_FILE, timeout=0))
                except Timeout:
                    raise InputError(f"a gateway writes to the logs {folder}: end it, and forget again") from None
        yield


def _clean_sheet(files: AuditFiles, person: Person, traces: Traces, secret: bytes) -> tuple[int, RemovedLines]:
    """Return how many rows left a sheet, and which lines left the rollouts beside it."""
    if not files.sheet.is_file():
        return 0, RemovedLines({}, {})
    rows = remove_prompts(files.sheet, person.prompts)
    removed = remove_lines(files.rollouts.parent, traces)
    finish_replacement(files.store)
    if files.store.is_dir():
        replace_store(anonymous(read_store(files.store), person, secret), files.store)
    return rows, removed
