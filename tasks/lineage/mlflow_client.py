"""Opens MLflow's store, late and quietly: the import takes seconds."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from schemas.errors import InputError

# Before MLflow is imported: it reads most of these then.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
# With a server it prints the address of each run that ends, which would spoil the document that a command prints.
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")

SQLITE_PREFIX: Final = "sqlite:///"


def open_client(tracking_uri: str) -> Any:
    """Open MLflow's store, runs and registry.

    Args:
        tracking_uri: `sqlite:///FILE`, or the address of an MLflow server.

    Raises:
        InputError: The store cannot be opened or written.
    """
    from mlflow import MlflowClient

    if not tracking_uri.startswith(SQLITE_PREFIX):
        return MlflowClient(tracking_uri, registry_uri=tracking_uri)
    file = Path(tracking_uri.removeprefix(SQLITE_PREFIX))
    unfinished = file.with_name(f"{file.name}.unfinished")
    _prepare(file, unfinished)
    client = MlflowClient(tracking_uri, registry_uri=tracking_uri)
    if unfinished.exists():
        client.search_registered_models(max_results=1)
        unfinished.unlink()
    return client


def milliseconds_now() -> int:
    """Return the time since 1970, in milliseconds, as MLflow counts it."""
    return time.time_ns() // 1_000_000


def _prepare(file: Path, unfinished: Path) -> None:
    """Prove that the database can be written: MLflow tries for two minutes to open one that cannot be opened.

    MLflow takes two seconds to make its tables, and cannot go on from half of them after a kill. The mark `unfinished`
    stands beside the database until it has them all.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if unfinished.exists():
            file.unlink(missing_ok=True)
        if not file.exists():
            unfinished.touch()
        with closing(sqlite3.connect(file)) as database:
            database.execute("BEGIN IMMEDIATE")
    except (OSError, sqlite3.Error) as error:
        raise InputError(
            f"MLflow's store {file} cannot be used ({error}); free space or permissions there, or move the file away "
            "to start a new one"
        ) from error
