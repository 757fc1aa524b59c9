"""MLflow client, imported late, since that takes seconds, and without its console output."""

import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from schemas.errors import InputError
from schemas.full_disk import is_of_full_disk
from tasks.lineage.mlflow.moved import follow, refuse_elsewhere

# Before MLflow's import, which reads most of these.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
# With a server it prints the address of each run that ends, which would corrupt the document that a command prints.
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")

LOGGER_OF_STORES: Final = "mlflow.store.db.utils"
SQLITE_PREFIX: Final = "sqlite:///"
ARTIFACT_TAG: Final = "artifact_sha256"
"""Tag of a stage's run and of a logged model: its artifact."""
REUSED_PREFIX: Final = "reused."
"""Prefix of a pipeline run's tags that name, by stage, the reused artifact."""
USER_VARIABLE: Final = "MLFLOW_TRACKING_USERNAME"
PASSWORD_VARIABLE: Final = "MLFLOW_TRACKING_PASSWORD"  # noqa: S105 - a name, and no password
RETRIES: Final = 2
"""After one and two seconds: enough for a server that restarts, and a short wait for one that is gone."""
SECONDS_TO_ANSWER: Final = 5
UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403


def open_client(tracking_uri: str) -> Any:
    """Open MLflow's store, runs and registry.

    Args:
        tracking_uri: `sqlite:///FILE`, or the address of an MLflow server.

    Raises:
        InputError: The store cannot be opened or written, or its server refuses or does not answer.
    """
    from mlflow import MlflowClient

    if not tracking_uri.startswith(SQLITE_PREFIX):
        _ask(tracking_uri)
        return MlflowClient(tracking_uri, registry_uri=tracking_uri)
    logging.getLogger(LOGGER_OF_STORES).addFilter(_is_of_interest)
    file = Path(tracking_uri.removeprefix(SQLITE_PREFIX))
    unfinished = file.with_name(f"{file.name}.unfinished")
    _prepare(file, unfinished)
    refuse_elsewhere(tracking_uri, files_folder(file))
    client = MlflowClient(tracking_uri, registry_uri=tracking_uri)
    if unfinished.exists():
        client.search_registered_models(max_results=1)
        unfinished.unlink()
    return client


def files_folder(file: Path) -> Path:
    """Return the folder of the runs' files of a database in a file."""
    return file.resolve().parent / "artifacts"


def shown_address(uri: str) -> str:
    """Return an address without a password."""
    user, at, _ = urlsplit(uri).netloc.rpartition("@")
    return uri.replace(f"{user}{at}", "", 1).rstrip("/")


@contextmanager
def answered(tracking_uri: str) -> Iterator[None]:
    """Translate refusals by MLflow's server in the block into one sentence.

    Raises:
        InputError: The server denies this user the request, or no longer accepts the user and password.
    """
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        refusal = _refusal(tracking_uri, error.get_http_status_code())
        # MLflow's own message is hidden: it may quote an address with a password.
        if refusal is None:
            raise
        raise InputError(refusal) from None


@contextmanager
def in_one_sentence(tracking_uri: str) -> Iterator[None]:
    """Translate whatever MLflow refuses in the block into one sentence, for a command that goes on when run again.

    Raises:
        InputError: MLflow refused something, or its server no longer answers.
    """
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        # MLflow's own message may quote a row, or an address with a password.
        raise InputError(
            _refusal(tracking_uri, error.get_http_status_code())
            or f"MLflow at {shown_address(tracking_uri)} did not do as asked ({error.error_code}); see that it runs "
            "and that you may write there, then run the same command again: it resumes from what is done"
        ) from None


def milliseconds_now() -> int:
    """Return the time since 1970 in milliseconds, MLflow's unit."""
    return time.time_ns() // 1_000_000


def _is_of_interest(record: logging.LogRecord) -> bool:
    """Return whether to show a log record: MLflow logs the traceback of a full disk, and raises the error too."""
    error = record.exc_info[1] if record.exc_info else None
    return error is None or not is_of_full_disk(error)


def _ask(tracking_uri: str) -> None:
    """Check within seconds that the server answers this user: MLflow itself tries for minutes."""
    from mlflow.exceptions import MlflowException
    from mlflow.utils.credentials import get_default_host_creds
    from mlflow.utils.rest_utils import http_request

    try:
        response = http_request(
            get_default_host_creds(tracking_uri),
            "/api/2.0/mlflow/experiments/search",
            "GET",
            params={"max_results": 1},
            max_retries=RETRIES,
            backoff_factor=1,
            backoff_jitter=0,
            timeout=SECONDS_TO_ANSWER,
            raise_on_status=False,
        )
    except MlflowException:
        raise InputError(
            f"no MLflow server answers at {shown_address(tracking_uri)}; start it, correct state.mlflow, or leave that "
            "out to keep the runs in the state folder"
        ) from None
    if not response.ok:
        status = f"{response.status_code} {response.reason}".strip()
        raise InputError(
            _refusal(tracking_uri, response.status_code)
            or f"what answers at {shown_address(tracking_uri)} is no MLflow server, or one in trouble ({status}); "
            "correct state.mlflow or see the server's log"
        )


def _refusal(tracking_uri: str, status: int) -> str | None:
    """Return the sentence for an HTTP status by which a server refuses; None for another."""
    server = f"the MLflow server {shown_address(tracking_uri)}"
    user = os.environ.get(USER_VARIABLE)
    if status == UNAUTHORIZED:
        who = f"{USER_VARIABLE}={user} with the password in" if user else f"{USER_VARIABLE}, which is not set, and"
        return f"{server} does not know {who} {PASSWORD_VARIABLE}; set both to a user that it knows"
    if status == FORBIDDEN:
        who = f"{USER_VARIABLE}={user}" if user else f"a user that {USER_VARIABLE} does not name"
        return f"{server} does not let {who} do this; ask its administrator for permission to edit, or set another user"
    return None


def _prepare(file: Path, unfinished: Path) -> None:
    """Check that the database can be written: MLflow tries for two minutes to open one that cannot be opened.

    MLflow takes two seconds to create its tables, and cannot continue from an incomplete set after a kill. The file
    `unfinished` stands beside the database until all exist.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if unfinished.exists():
            file.unlink(missing_ok=True)
        if not file.exists():
            unfinished.touch()
        with closing(sqlite3.connect(file)) as database:
            database.execute("BEGIN IMMEDIATE")
            follow(database, files_folder(file))
    except (OSError, sqlite3.Error) as error:
        raise InputError(
            f"MLflow's store {file} cannot be used ({error}); free space or permissions there, or move the file away "
            "to start a new one"
        ) from error
