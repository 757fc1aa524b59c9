"""A state folder on a read-only disk, or with a database that cannot be used, is one sentence before any work."""

import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from flows.runtime.session import prefect_folder
from schemas import sqlite_file
from schemas.sqlite_file import SqliteFile
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
def test_what_only_reads_works(state: Path, command: tuple[str, ...]) -> None:
    ended = in_this_process(*command, "--set", f"state.root={state}")
    assert ended.returncode == 0, ended.text


@pytest.mark.parametrize(
    "command",
    [("retrain", "--profile", PROFILE), ("forget", ANA, "--apply"), ("ui",)],
)
def test_what_writes_is_refused_in_one_sentence(
    state: Path, command: tuple[str | Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = listing(state)
    ended = in_this_process(*command, "--state", state)
    assert ended.returncode == 2
    assert str(state) in ended.text
    assert "Traceback" not in ended.text
    assert listing(state) == before
    assert not list(tmp_path.iterdir())


COMMANDS = [
    ("ask", "sentiment", "Chegou quebrado"),
    ("retrain", "--yes"),
    ("serve",),
]


@pytest.fixture
def store(tmp_path: Path) -> SqliteFile:
    """A store of the installed MLflow's, beside a store of artifacts."""
    file = tmp_path / "state" / "mlflow" / "mlflow.db"
    file.parent.mkdir(parents=True)
    (tmp_path / "state" / "artifacts").mkdir()
    made = local_store(f"sqlite:///{file}")
    assert made.schema is not None
    _of_version(file, made.schema.revisions()[0])
    return made


def _of_version(file: Path, revision: str) -> None:
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS alembic_version (version_num TEXT)")
        database.execute("DELETE FROM alembic_version")
        database.execute("INSERT INTO alembic_version VALUES (?)", [revision])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_store_in_use_is_waited_for_and_the_command_can_be_repeated(
    store: SqliteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Sequence[str]
) -> None:
    monkeypatch.setattr(sqlite_file, "SECONDS_TO_WAIT", 0.1)
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        ended = in_this_process(*command, "--set", f"state.root={tmp_path / 'state'}")
    said = " ".join(ended.text.split())
    assert (ended.returncode, "in use by another process" in said) == (4, True), said
    assert "run the same command again" in said


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_store_of_another_version_is_refused_with_both_and_stays_as_it_is(
    store: SqliteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Sequence[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _of_version(store.path, "abc123")
    before = sha256(store.path.read_bytes()).digest()
    ended = in_this_process(*command, "--set", f"state.root={tmp_path / 'state'}")
    assert store.schema is not None
    said = " ".join(ended.text.split())
    assert ended.returncode == 2, said
    for expected in ("abc123", store.schema.revisions()[0], "copy the file", "mlflow db upgrade"):
        assert expected in said
    assert sha256(store.path.read_bytes()).digest() == before
