"""Where the disk is full, MLflow prints nothing of its own; the traceback of any other error stays."""

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from tasks.lineage.mlflow.client import LOGGER_OF_STORES
from tasks.lineage.mlflow.recorder import Recorder

pytestmark = pytest.mark.integration


class KeptRecords(logging.Handler):
    """Handler that keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def logged() -> Iterator[list[logging.LogRecord]]:
    """What MLflow's stores log."""
    handler = KeptRecords()
    logger = logging.getLogger(LOGGER_OF_STORES)
    logger.addHandler(handler)
    yield handler.records
    logger.removeHandler(handler)


def _never_grows(connection: sqlite3.Connection, *_: Any) -> None:
    """Let SQLite find its disk full: it takes a limit below its size for its size."""
    connection.execute("PRAGMA max_page_count = 1")


def test_a_full_disk_is_raised_and_not_logged(tmp_path: Path, logged: list[logging.LogRecord]) -> None:
    from sqlalchemy import Pool, event

    recorder = Recorder(f"sqlite:///{tmp_path / 'mlflow.db'}", tmp_path / "artifacts", "e")
    event.listen(Pool, "checkout", _never_grows)
    try:
        with pytest.raises(InputError, match="ran full"), recorder.stage("", "train", {}, {}) as run:
            run.log_figures({f"figure_{number}": "x" * 4000 for number in range(100)})
    finally:
        event.remove(Pool, "checkout", _never_grows)
    assert logged == []
