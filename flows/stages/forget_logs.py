"""Lines of a person in the logs of a served model, and in the sheets that people score."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from flows.runtime.logs_to_monitor import served_logs
from flows.runtime.session import EXPERIMENT, mlflow_store
from flows.stages.prompts_from_logs import FOLDER as SERVED_PROMPTS_FOLDER
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.store.files import finish_replacement, read_store, replace_store
from schemas.tables.log_file import FEEDBACK_FOLDER
from schemas.tables.person import Person
from tasks.audit.forget import remove_prompts
from tasks.audit.stage import AuditFiles, files_of
from tasks.lineage.mlflow.removal import Removal
from tasks.lineage.privacy.log_lines import Traces, remove_lines
from tasks.serve.gateway.answer_log import LOCK_FILE
from tasks.synthesize.forget import anonymous
from tasks.synthesize.stage import ANSWERS_FOLDER

SCORES_FOLDER: Final = "scores"


def clean_logs(config: Config, person: Person, traces: Traces, secret: bytes) -> tuple[dict[str, int], tuple[str, ...]]:
    """Take a person's lines out of the logs and of the sheets that people score.

    Returns:
        The number of lines taken out of each kind, and a sentence on each log that was not reached.
    """
    root = config.state.root
    lines: dict[str, int] = {}
    unreached: list[str] = []
    for folder in _logs_of(config):
        try:
            with _alone(folder):
                lines[folder.name], unread = remove_lines(folder, traces)
            unreached += unread
        except InputError as error:
            unreached.append(str(error))
    for folder in sorted((root / SCORES_FOLDER).glob("*/")):
        try:
            count, unread = _clean_sheet(files_of(folder), person, traces, secret)
        except (OSError, InputError) as error:
            unreached.append(f"the sheet of {folder} could not be cleaned ({error})")
        else:
            lines[SCORES_FOLDER] = lines.get(SCORES_FOLDER, 0) + count
            unreached += unread
    try:
        removal = Removal(*mlflow_store(config.state), EXPERIMENT)
        lines["traces"] = removal.traces(traces.are_in_json)
    except InputError as error:
        unreached.append(f"MLflow's traces could not be reached ({error}), so nobody was looked for in them")
    # What a paraphrasing model answered is asked for again where it is wanted.
    shutil.rmtree(root / ANSWERS_FOLDER, ignore_errors=True)
    return lines, tuple(unreached)


def refuse_running_gateway(config: Config) -> None:
    """Refuse to begin while a gateway writes to the logs.

    Raises:
        InputError: One does.
    """
    for folder in _logs_of(config):
        with _alone(folder):
            pass


def _logs_of(config: Config) -> list[Path]:
    folders = (served_logs(config), config.state.root / SERVED_PROMPTS_FOLDER)
    return [folder for folder in folders if folder.is_dir()]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder of logs, to which a gateway would go on writing.

    Raises:
        InputError: A gateway writes to it.
    """
    with ExitStack() as stack:
        for place in (folder, folder / FEEDBACK_FOLDER):
            if (place / LOCK_FILE).exists():
                try:
                    stack.enter_context(FileLock(place / LOCK_FILE, timeout=0))
                except Timeout:
                    raise InputError(f"a gateway writes to the logs {folder}: end it, and forget again") from None
        yield


def _clean_sheet(files: AuditFiles, person: Person, traces: Traces, secret: bytes) -> tuple[int, tuple[str, ...]]:
    if not files.sheet.is_file():
        return 0, ()
    rows = remove_prompts(files.sheet, person.prompts)
    lines, unread = remove_lines(files.rollouts.parent, traces)
    finish_replacement(files.store)
    if files.store.is_dir():
        replace_store(anonymous(read_store(files.store), person, secret), files.store)
    return rows + lines, unread
