"""A store that another process holds is neither empty nor damaged: to who reads it, and to who writes a run."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from schemas import sqlite_file
from schemas.sqlite_file import InUse
from tasks.lineage.mlflow.client import open_client
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry, local_aliases

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mlflow_tables")]
MODEL = "model"


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have nobody wait for the store: MLflow's own time is fixed in its statement."""
    from sqlalchemy import Engine, event

    def at_once(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> tuple[str, Any]:
        return statement.replace("busy_timeout = 20000", "busy_timeout = 0"), parameters

    monkeypatch.setattr(sqlite_file, "SECONDS_TO_WAIT", 0)
    event.listen(Engine, "before_cursor_execute", at_once, retval=True)
    yield
    event.remove(Engine, "before_cursor_execute", at_once)


@contextmanager
def held(file: Path) -> Iterator[None]:
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


def test_a_registry_in_use_is_not_one_without_a_champion(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    registry = Registry(uri)
    open_client(uri)
    with held(tmp_path / "mlflow.db"):
        with pytest.raises(InUse):
            local_aliases(uri, MODEL)
        with pytest.raises(InUse):
            registry.holder(MODEL, "champion")
        with pytest.raises(InUse):
            open_client(uri)
    assert registry.holder(MODEL, "champion") is None


def test_a_run_whose_store_is_held_ends_in_one_sentence_and_is_marked_by_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    uri, files = f"sqlite:///{tmp_path / 'mlflow.db'}", tmp_path / "artifacts"
    recorder = Recorder(uri, files, "e", state="s")
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(InUse, match="run the same command again"),
        recorder.pipeline("p", {}) as run,
        recorder.stage(run, "train", {}, {}) as stage,
        held(tmp_path / "mlflow.db"),
    ):
        stage.log_figures({"reward": 0.5})
    assert caplog.records == []
    again = Recorder(uri, files, "e", state="s")
    again.end_abandoned()
    assert again._client.get_run(run).info.status == "KILLED"


def test_an_interrupted_run_stays_interrupted_where_its_end_cannot_be_recorded(tmp_path: Path) -> None:
    recorder = Recorder(f"sqlite:///{tmp_path / 'mlflow.db'}", tmp_path / "artifacts", "e")
    with ExitStack() as until_the_end, pytest.raises(KeyboardInterrupt) as interrupted, recorder.pipeline("p", {}):
        until_the_end.enter_context(held(tmp_path / "mlflow.db"))
        raise KeyboardInterrupt
    assert any("could not record the end" in note for note in interrupted.value.__notes__)
