"""MLflow client, imported late, since that takes seconds, and without its console output."""

import json
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from schemas.errors import InputError, TucanoError
from schemas.sqlite_file import Schema, SqliteFile
from tasks.lineage.mlflow.moved import follow

# Before MLflow's import, which reads most of these.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
# With a server it prints the address of each run that ends, which would corrupt the document that a command prints.
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")

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
REFUSED: Final = (401, 403)
SERVER_FAULT: Final = 500
"""The least status by which a server says that it is in trouble; MLflow has it for an answer that is none, too."""


def open_client(tracking_uri: str) -> Any:
    """Open MLflow's store, runs and registry, as MLflow's client whose every call is `answered`."""
    from mlflow import MlflowClient
    from mlflow.tracking._tracking_service.utils import _artifact_repos_cache

    if not tracking_uri.startswith(SQLITE_PREFIX):
        _ask(tracking_uri)
        return _AnsweredClient(MlflowClient(tracking_uri, registry_uri=tracking_uri), tracking_uri)
    # MLflow logs the traceback of an error that it raises too.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
    store = local_store(tracking_uri)
    _prepare(store.path, _unfinished(store.path))
    # MLflow remembers the files of a run by its id, which a copy of the store has too.
    _artifact_repos_cache.clear()
    with answered(tracking_uri):
        client = _AnsweredClient(MlflowClient(tracking_uri, registry_uri=tracking_uri), tracking_uri)
        if _unfinished(store.path).exists():
            client.search_registered_models(max_results=1)
            _unfinished(store.path).unlink()
    return client


class _AnsweredClient:
    """MLflow's client: a call that its store does not answer ends in one sentence, and no signal breaks one off."""

    def __init__(self, client: Any, tracking_uri: str) -> None:
        self._client, self._uri = client, tracking_uri

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not callable(found):
            return found
        asked = answered(self._uri)(found)
        return _unbroken()(asked) if self._uri.startswith(SQLITE_PREFIX) else asked


@contextmanager
def _unbroken() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back: a call broken off while it writes leaves its transaction open for 20 s."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    held = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, lambda number, _: came.append(number)) for each in held]
    try:
        yield
    finally:
        for each, handler in zip(held, before, strict=True):
            signal.signal(each, handler)
        if came:
            signal.raise_signal(came[0])


def local_store(tracking_uri: str) -> SqliteFile:
    """Return the SQLite file of an address `sqlite:///FILE`."""
    upgrade = f"mlflow db upgrade {tracking_uri}"
    schema = Schema("mlflow", "store/db_migrations/versions", upgrade, upgrades_itself=False)
    file = Path(tracking_uri.removeprefix(SQLITE_PREFIX))
    return SqliteFile(file, "MLflow's store", "the record of earlier runs and the model registry", schema)


def prove_usable(tracking_uri: str) -> None:
    """Refuse a SQLite store that a run could not write; one that is not made yet, and a server, are not asked."""
    store = local_store(tracking_uri)
    if tracking_uri.startswith(SQLITE_PREFIX) and _has_tables(store):
        store.prove_writable()


def local_rows(tracking_uri: str, query: str, *values: str) -> list[tuple[Any, ...]]:
    """Return rows of a SQLite store without MLflow, whose import takes seconds; none of one that is not made yet."""
    store = local_store(tracking_uri)
    if not _has_tables(store):
        return []
    with store.opened() as database:
        return database.execute(query, values).fetchall()


def _has_tables(store: SqliteFile) -> bool:
    """Return whether MLflow has made all tables of a store; refuse a file that has lost them."""
    if _unfinished(store.path).exists():
        return False
    if store.is_made():
        return True
    if store.path.is_file():
        raise InputError(
            f"{store.name} {store.path} is empty, so {store.lost_without} are lost; put back a copy from before, or "
            "delete the file to start a new one without them"
        )
    return False


def files_folder(file: Path) -> Path:
    """Return the folder of the runs' files of a database in a file."""
    return file.resolve().parent / "artifacts"


def shown_address(uri: str) -> str:
    """Return an address without a password."""
    user, at, _ = urlsplit(uri).netloc.rpartition("@")
    return uri.replace(f"{user}{at}", "", 1).rstrip("/")


@contextmanager
def answered(tracking_uri: str) -> Iterator[None]:
    """Translate into an `InputError` or `InUse` what keeps MLflow in the block from answering; its answers pass."""
    try:
        yield
    except Exception as error:
        failure = _failure(tracking_uri, error)
        if failure is None:
            raise
        # MLflow's own message is hidden: it may quote an address with a password.
        raise failure from None


@contextmanager
def in_one_sentence(tracking_uri: str) -> Iterator[None]:
    """Translate whatever MLflow refuses in the block into an `InputError`, for a command that can resume."""
    from mlflow.exceptions import MlflowException

    try:
        with answered(tracking_uri):
            yield
    except MlflowException as error:
        # MLflow's own message may quote a row.
        raise InputError(
            f"MLflow at {shown_address(tracking_uri)} did not do as asked ({error.error_code}); see that it runs "
            "and that you may write there, then run the same command again: it resumes from what is done"
        ) from None


def milliseconds_now() -> int:
    """Return the time since 1970 in milliseconds, MLflow's unit."""
    return time.time_ns() // 1_000_000


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
        raise _server_failure(tracking_uri, f"{response.status_code} {response.reason}".strip())
    if not response.text.lstrip().startswith("{"):
        raise _server_failure(tracking_uri, "a page in place of JSON")


def _failure(tracking_uri: str, error: Exception) -> TucanoError | None:
    """Return the sentence for what kept a store from answering; None for an answer, or an error of our own."""
    from mlflow.exceptions import MlflowException
    from requests import RequestException

    if isinstance(error, TucanoError):
        return None
    if tracking_uri.startswith(SQLITE_PREFIX):
        return local_store(tracking_uri).failure(error)
    if isinstance(error, MlflowException):
        status, what = error.get_http_status_code(), str(error.error_code)
    elif isinstance(error, RequestException | json.JSONDecodeError):
        response = getattr(error, "response", None)
        status, what = getattr(response, "status_code", SERVER_FAULT), type(error).__name__
    else:
        return None
    return _server_failure(tracking_uri, what) if status in REFUSED or status >= SERVER_FAULT else None


def _server_failure(tracking_uri: str, what: str) -> InputError:
    """Return the sentence for a server that refuses this user, or is in trouble."""
    user = f"{USER_VARIABLE}={os.environ.get(USER_VARIABLE, '')}"
    return InputError(
        f"the MLflow server {shown_address(tracking_uri)} answered {user} with {what}; set that and "
        f"{PASSWORD_VARIABLE} to a user who may do this, correct state.mlflow, or see the server's log and what "
        "stands between, then run the same command again"
    )


def _unfinished(file: Path) -> Path:
    """Return the marker that stands beside a database until MLflow has made all its tables."""
    return file.with_name(f"{file.name}.unfinished")


def _prepare(file: Path, unfinished: Path) -> None:
    """Check that the database can be written: MLflow tries for minutes, and cannot resume a killed making of tables."""
    store = local_store(f"{SQLITE_PREFIX}{file}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if unfinished.exists():
            file.unlink(missing_ok=True)
        if not _has_tables(store):
            unfinished.touch()
    except OSError as error:
        raise InputError(
            f"{store.name} {file} cannot be used ({error.strerror}); free space or permissions there"
        ) from None
    with store.opened(write=True) as database:
        database.execute("BEGIN IMMEDIATE")
        follow(database, files_folder(file))
