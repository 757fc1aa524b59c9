"""One outcome each for a SQLite file that is missing, in use, half written, closed to us, damaged or foreign."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from schemas import sqlite_file
from schemas.errors import InputError, Interrupted
from schemas.sqlite_file import Schema, SqliteFile

ROWS = "SELECT count(*) FROM things"
KILLED_IN_A_WRITE = """
import os, signal, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA cache_size = 1")
database.execute("BEGIN")
database.execute("UPDATE things SET name = name || name")
os.kill(os.getpid(), signal.SIGKILL)
"""
PROVE = """
import sys
from pathlib import Path
from schemas.errors import InputError
from schemas.sqlite_file import SqliteFile
try:
    SqliteFile(Path(sys.argv[1]), "it", "all").prove_writable()
except InputError as error:
    print(error)
"""
AS_A_USER = (
    ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
    if os.geteuid() == 0
    else []
)
"""Root may read and write every file."""
MLFLOW = Schema("mlflow", "store/db_migrations/versions", "mlflow db upgrade sqlite:///F", upgrades_itself=False)
PREFECT = Schema("prefect", "server/database/_migrations/versions/sqlite", "prefect ...", upgrades_itself=True)


@pytest.fixture
def file(tmp_path: Path) -> SqliteFile:
    made = SqliteFile(tmp_path / "shop's things #1.db", "the list of things", "every thing")
    with made.opened(write=True) as database, database:
        database.execute("CREATE TABLE things (name TEXT)")
        database.executemany("INSERT INTO things VALUES (?)", [(str(n) * 200,) for n in range(100, 600)])
    return made


@pytest.fixture(autouse=True)
def _short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "SECONDS_TO_WAIT", 0.3)


@contextmanager
def held(path: Path, how: str = "EXCLUSIVE") -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as holder:
        holder.execute(f"BEGIN {how}")
        yield holder


def count(file: SqliteFile) -> int:
    with file.opened() as database:
        return int(database.execute(ROWS).fetchone()[0])


def test_a_file_in_use_is_neither_damaged_nor_empty(file: SqliteFile) -> None:
    with held(file.path), pytest.raises(Interrupted, match=r"in use by another process.*run the same command again"):
        count(file)
    assert count(file) == 500


@pytest.mark.parametrize("write", [False, True])
def test_a_signal_ends_the_wait_at_once(file: SqliteFile, monkeypatch: pytest.MonkeyPatch, *, write: bool) -> None:
    def leave(*_: object) -> None:
        raise Interrupted("asked to end")

    monkeypatch.setattr(sqlite_file, "SECONDS_TO_WAIT", 10)
    before = signal.signal(signal.SIGALRM, leave)
    try:
        with held(file.path):
            began = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(Interrupted, match="asked to end"), file.opened(write=write) as database:
                database.execute(ROWS)
            assert time.monotonic() - began < 3
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_killed_writers_half_done_change_is_undone(file: SqliteFile) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED_IN_A_WRITE, str(file.path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert file.path.with_name(f"{file.path.name}-journal").stat().st_size
    with file.opened() as database:
        assert database.execute("SELECT max(length(name)) FROM things").fetchone()[0] == 600


def tear(path: Path) -> None:
    with path.open("r+b") as torn:
        torn.seek(4096)
        torn.write(b"\xff" * 60_000)


@pytest.mark.parametrize("spoil", [lambda path: path.write_bytes(b"no database at all" * 99), tear])
def test_a_damaged_file_is_reported_with_what_is_lost_without_it(
    file: SqliteFile, spoil: Callable[[Path], object]
) -> None:
    spoil(file.path)
    with pytest.raises(InputError, match=r"damaged.*without every thing"), file.opened() as database:
        database.execute("SELECT sum(length(name)) FROM things").fetchall()


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
@pytest.mark.parametrize(("of_file", "of_folder"), [(0o400, 0o700), (0o600, 0o500), (0o000, 0o700)])
def test_a_file_that_cannot_be_written_is_refused(file: SqliteFile, journal: str, of_file: int, of_folder: int) -> None:
    with closing(sqlite3.connect(file.path)) as database:
        database.execute(f"PRAGMA journal_mode = {journal}")
    file.prove_writable()
    before = file.path.read_bytes()
    folder = file.path.parent
    file.path.chmod(of_file)
    folder.chmod(of_folder)
    try:
        command = [*AS_A_USER, sys.executable, "-c", PROVE, str(file.path)]
        asked = subprocess.run(command, text=True, capture_output=True, check=False)
    finally:
        folder.chmod(0o700)
        file.path.chmod(0o600)
    assert "correct the permissions" in asked.stdout, asked
    assert file.path.read_bytes() == before
    file.prove_writable()


OLDER = min(MLFLOW.revisions()[1] - {MLFLOW.revisions()[0]})


@pytest.mark.parametrize(("schema", "revision"), [(MLFLOW, "abc123"), (PREFECT, "abc123"), (MLFLOW, OLDER)])
def test_another_schema_is_refused_with_both_versions_unless_the_library_upgrades_it(
    tmp_path: Path, schema: Schema, revision: str
) -> None:
    newest, known = schema.revisions()
    file = SqliteFile(tmp_path / "s.db", "the store", "the registry", schema)
    with closing(sqlite3.connect(file.path)) as database, database:
        database.execute("CREATE TABLE alembic_version (version_num TEXT)")
        database.execute("INSERT INTO alembic_version VALUES (?)", [revision])
    with pytest.raises(InputError) as caught, file.opened():
        pass
    for said in (revision, newest, schema.package, "copy the file", "the registry", schema.upgrade):
        assert said in str(caught.value)
    if schema.upgrades_itself:
        with closing(sqlite3.connect(file.path)) as database, database:
            database.execute("UPDATE alembic_version SET version_num = ?", [min(known)])
        with file.opened():
            pass
