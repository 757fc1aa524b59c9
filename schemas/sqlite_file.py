"""SQLite files: one place that opens them, and says whether one is missing, in use, closed, damaged or foreign."""

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from schemas.errors import InputError, Interrupted, TucanoError, causes_of, full_disk_error, is_of_full_disk

SECONDS_TO_WAIT: Final = 20
"""Wait for another process that holds a file, as long as MLflow waits."""
SECONDS_OF_A_TRY: Final = 0.5
"""Time in which SQLite itself waits, deaf to signals."""
_IN_USE: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})
_CLOSED: Final = frozenset({sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH})
_KIND: Final = 0xFF
"""Bits of SQLite's error code that name its kind; the others name the case."""
_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table'"
_REVISION: Final = re.compile(r"^(down_)?revision\b[^=\n]*= *[\"'](\w+)[\"']", re.MULTILINE)


class InUse(Interrupted):
    """Another process held a file for too long; the same command resumes."""


@dataclass(frozen=True)
class Schema:
    """Schema of a library's database, whose revisions are Alembic's files in the installed library."""

    package: str
    folder: str
    upgrade: str
    upgrades_itself: bool
    """Whether the library upgrades an older database when it opens one."""

    def revisions(self) -> tuple[str, frozenset[str]]:
        """Return the newest revision and all; the library itself is not imported, which takes seconds."""
        return _revisions(self.package, self.folder)


@dataclass(frozen=True)
class SqliteFile:
    """A SQLite file, and how sentences name it."""

    path: Path
    name: str
    """Its name, such as `MLflow's store`."""
    lost_without: str
    """Clause that says what is lost where the file is moved away."""
    schema: Schema | None = None

    def is_made(self) -> bool:
        """Return whether there is anything in the file."""
        try:
            return self.path.stat().st_size > 0
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise InputError(
                f"{self.name} {self.path} cannot be read ({error.strerror}); correct the permissions of its folder"
            ) from None

    @contextmanager
    def opened(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the file for the block, which may change and make it with `write`; InUse where it is held too long."""
        # Not `ro`: whoever opens the file next must undo what a killed writer left half done, and so must write. SQLite
        # itself opens a read-only file as such.
        address = f"{self.path.absolute().as_uri()}?mode={'rwc' if write else 'rw'}"
        try:
            with closing(sqlite3.connect(address, timeout=SECONDS_OF_A_TRY, uri=True)) as database:
                _wait_until_free(database, "BEGIN IMMEDIATE" if write else _TABLES)
                if not write:
                    database.execute("PRAGMA query_only = ON")
                if self.schema is not None:
                    self._refuse_other_schema(database, self.schema)
                yield database
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
                raise InputError(
                    f"{self.name} {self.path} lacks what is read of it ({error}): another program wrote it; name or "
                    "put back the right file"
                ) from None
            if (failure := self.failure(error)) is None:
                raise
            raise failure from None

    def prove_writable(self) -> None:
        """Refuse a file that could not be written now, as `opened` does; what is written to prove it is undone."""
        with self.opened(write=True) as database:
            # Of a read-only file SQLite grants even this, and says so only at a change.
            database.execute("BEGIN IMMEDIATE")
            database.execute("PRAGMA user_version = 1")
            database.rollback()

    def failure(self, error: BaseException) -> TucanoError | None:
        """Return the sentence for an error that SQLite gave, or gave to a library; None for any other error."""
        if (cause := _sqlite_error(error)) is None:
            return None
        what, kind = f"{self.name} {self.path}", cause.sqlite_errorcode & _KIND
        if kind in _IN_USE:
            return in_use(what)
        if is_of_full_disk(cause):
            return full_disk_error(self.path.parent, cause)
        if kind in _CLOSED:
            fault = f"cannot be used ({cause}); correct the permissions of the file and its folder"
        elif kind == sqlite3.SQLITE_IOERR:
            fault = f"cannot be read from its disk ({cause}); see that the disk is there and works"
        elif kind in _DAMAGED:
            fault = (
                f"is damaged ({cause}); put back a copy from before, or move the file away to start a new one without "
                f"{self.lost_without}"
            )
        else:
            return None
        return InputError(f"{what} {fault}")

    def _refuse_other_schema(self, database: sqlite3.Connection, schema: Schema) -> None:
        """Refuse a database of another revision than the installed library's; one without tables is new."""
        if not (tables := {name for (name,) in database.execute(_TABLES)}):
            return
        if "alembic_version" not in tables:
            raise InputError(
                f"{self.name} {self.path} is no database of {schema.package}; name or put back the right file"
            )
        found = " and ".join(name for (name,) in database.execute("SELECT version_num FROM alembic_version"))
        newest, known = schema.revisions()
        if found == newest or (schema.upgrades_itself and found in known):
            return
        raise InputError(
            f"{self.name} {self.path} has the schema {found or 'of no version'}, and {schema.package} "
            f"{version(schema.package)} has {newest}: another version wrote it; copy the file, then run "
            f"`{schema.upgrade}`, install that version, or move the file away to start a new one without "
            f"{self.lost_without}"
        )


def _wait_until_free(database: sqlite3.Connection, lock: str) -> None:
    """Wait for another process's end in short tries, between which a signal is obeyed; later statements wait whole."""
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while True:
        try:
            database.execute(lock).fetchall()
            break
        except sqlite3.OperationalError as error:
            if not is_in_use(error) or time.monotonic() > deadline:
                raise
            # SQLite says so without a wait where it would be in vain.
            time.sleep(0.05)
    database.rollback()
    database.execute(f"PRAGMA busy_timeout = {1000 * SECONDS_TO_WAIT:.0f}")


def in_use(what: str) -> InUse:
    """Return the sentence for a file that another process held for too long."""
    return InUse(
        f"{what} is in use by another process, for longer than {SECONDS_TO_WAIT} s; run the same command again when "
        "that has ended: what was finished is kept"
    )


def is_in_use(error: BaseException) -> bool:
    """Return whether an error is, or was caused by, a SQLite file that another process holds."""
    cause = _sqlite_error(error)
    return cause is not None and cause.sqlite_errorcode & _KIND in _IN_USE


def _sqlite_error(error: BaseException) -> sqlite3.Error | None:
    """Return SQLite's own error among an error and its causes."""
    found = (each for each in causes_of(error) if isinstance(each, sqlite3.Error))
    return next((each for each in found if hasattr(each, "sqlite_errorcode")), None)


@cache
def _revisions(package: str, folder: str) -> tuple[str, frozenset[str]]:
    spec = find_spec(package)
    places = [] if spec is None else spec.submodule_search_locations or []
    revisions, replaced = set[str](), set[str]()
    for file in (file for place in places for file in (Path(place) / folder).glob("*.py")):
        for is_replaced, revision in _REVISION.findall(file.read_text(encoding="utf-8")):
            (replaced if is_replaced else revisions).add(revision)
    (newest,) = revisions - replaced
    return newest, frozenset(revisions)
