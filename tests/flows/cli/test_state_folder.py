"""A state folder on a read-only disk, or with a database that cannot be used, is one sentence before any work."""

import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from flows.runtime.session import prefect_folder
from schemas import sqlite_file
from tasks.lineage.mlflow.client import local_store
from tests.flows.command import in_this_process
from tests.listing import listing
from tests.small_disk import mounted_disk
from tests.small_pipeline import PROFILE
from tests.tasks.lineage.small_world import ANA, TRAINED, make_world

DISK_BYTES = 20_000_000


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with mounted_disk(tmp_path_factory.mktemp("mounted"), DISK_BYTES) as disk:
        make_world(disk / "state" / "artifacts")
        prefect_folder(disk / "state").mkdir()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        yield disk / "state"


@pytest.mark.parametrize("command", [("lineage", TRAINED.prompt_id), ("forget", ANA)])
def test_a_command_that_only_reads_works(state: Path, command: tuple[str, ...]) -> None:
    ended = in_this_process(*command, "--state", state)
    assert ended.returncode == 0, ended.text


@pytest.mark.parametrize("command", [("retrain", "--profile", PROFILE), ("forget", ANA, "--apply"), ("ui",)])
def test_a_command_that_writes_is_refused_in_one_sentence(
    state: Path, command: tuple[str | Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = listing(state)
    assert str(state) in in_this_process(*command, "--state", state).refusal()
    assert listing(state) == before
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", [("ask", "sentiment", "Chegou quebrado"), ("retrain", "--yes"), ("serve",)])
def test_a_store_in_use_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Sequence[str]) -> None:
    monkeypatch.setattr(sqlite_file, "SECONDS_TO_WAIT", 0.1)
    monkeypatch.chdir(tmp_path)
    state = tmp_path / "state"
    for folder in ("mlflow", "artifacts"):
        (state / folder).mkdir(parents=True)
    store = local_store(f"sqlite:///{state / 'mlflow' / 'mlflow.db'}")
    assert store.schema is not None
    with closing(sqlite3.connect(store.path)) as database, database:
        database.execute("CREATE TABLE alembic_version (version_num TEXT)")
        database.execute("INSERT INTO alembic_version VALUES (?)", [store.schema.revisions()[0]])
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        in_use = in_this_process(*command, "--state", state).refusal(4)
    assert "in use by another process" in in_use
    assert "run the same command again" in in_use
    with closing(sqlite3.connect(store.path)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = 'abc123'")
    before = store.path.read_bytes()
    assert "abc123" in in_this_process(*command, "--state", state).refusal()
    assert store.path.read_bytes() == before
