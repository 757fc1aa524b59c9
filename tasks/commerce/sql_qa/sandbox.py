"""Sandbox for generated SQL: in-memory SQLite copies of a store, read-only and on a budget.

A query is hostile text. It is confined by (https://sqlite.org/security.html): an authorizer that permits reading the
store's tables and calling harmless functions, and nothing else; SQLite's own limits; a budget of virtual-machine
operations, which is the same on every machine, backed by a limit on the thread's processor time; a cap on rows.

The same budgets keep the growth of the process below 256 MB: a query stores at most a row of 1,000 bytes every few of
its `MAX_OPERATIONS`. SQLite's `hard_heap_limit` is not used: it is one for the process, so that a query could starve
MLflow's or Prefect's SQLite. Nothing goes to a file. Nothing depends on the clock, the time zone or chance: our date
functions take the place of SQLite's, which they call and cache, and refuse any use of the clock or the time zone.
"""

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from schemas.store.store import Store
from tasks.commerce.sql_qa.store_copies import OTHER, TIED, cut, read_values, refill

Cell = str | bytes | int | float | None
Row = tuple[Cell, ...]


class FilledTable(NamedTuple):
    """Table of a store as SQLite holds it: its columns' affinities by name, and its rows."""

    columns: Mapping[str, str]
    rows: Iterable[Row]


Tables = Mapping[str, FilledTable]
DATA_FILES: Final = ("data/sql/sandbox.toml",)
_ALLOWED: Final = read_values("sandbox.toml")
TABLES: Final[tuple[str, ...]] = tuple(_ALLOWED["tables"])
KEYS: Final[tuple[str, ...]] = tuple(_ALLOWED["keys"])
FUNCTIONS, FORMATS, _UNREPEATABLE = (frozenset(_ALLOWED[name]) for name in ("functions", "formats", "unrepeatable"))
_MOST: Final[Mapping[str, Any]] = _ALLOWED["most"]
MAX_SQL_CHARACTERS, MAX_WITH_TABLES, MAX_LIST_ITEMS = _MOST["sql_characters"], _MOST["with_tables"], _MOST["list_items"]
MAX_ROWS, MAX_OPERATIONS, MAX_REFERENCES = _MOST["rows"], _MOST["operations"], _MOST["references"]
MAX_SECONDS, MAX_REFERENCE_SECONDS = _MOST["seconds"], _MOST["reference_seconds"]
OPERATIONS_A_DATE, OPERATIONS_BETWEEN_CHECKS = _MOST["operations_a_date"], _MOST["operations_between_checks"]
_FORMATS: Final = re.compile(r"\b(?:printf|format)\b", re.IGNORECASE)
_NARROW_FORMAT: Final = re.compile(
    r"\b(?:printf|format)\s*\(\s*'(?:[^%']|%%|%[-+, 0]{0,3}\d{0,2}(?:\.\d)?[dfs])*+'\s*[,)]", re.IGNORECASE
)
# Counts too many where comments or text look like one, never too few.
_WITH_TABLE: Final = re.compile(
    r"\bAS\b(?:\s|(?>/\*.*?\*/)|--[^\n]*\n|NOT\b|MATERIALIZED\b)*+\(", re.IGNORECASE | re.DOTALL
)
_LIST_ITEM: Final = re.compile(r",|\bJOIN\b", re.IGNORECASE)
_EXPLAIN: Final = re.compile(r"(?:\s|;|--[^\n]*\n|(?>/\*.*?\*/))*+EXPLAIN\b", re.IGNORECASE | re.DOTALL)
_BETWEEN_TOKENS: Final = re.compile(
    r"""'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|((?:[ \t\n\f\r]|--[^\n]*|(?>/\*.*?\*/))+)""", re.DOTALL
)
_FORBIDDEN: Final = re.compile("not authorized|user-defined function raised exception")


class Refusal(Enum):
    """Reason why a query has no result."""

    INVALID = "invalid"
    """It is no single query that SQLite can run on the store's tables."""
    FORBIDDEN = "forbidden"
    """It would do more than read the store's tables, or its result would change from run to run."""
    TOO_MUCH = "too much"  # Operations, time, memory or rows.


class Execution(NamedTuple):
    """Result of one query on one copy; without a refusal it has columns and rows."""

    refusal: Refusal | None
    columns: int
    rows: tuple[Row, ...]
    reads: frozenset[str]
    """The `table` and `table.column` names that the query reads, as far as it could be prepared and as SQLite reports:
    columns joined by `USING` are missing."""


def _date_function(name: str, fewest: int) -> Callable[..., Cell]:
    @lru_cache(32_768)
    def function(*arguments: Cell) -> Cell:
        # SQLite reads text up to its first null character, and treats bytes as text.
        texts = [each.partition("\0")[0].strip().lower() for each in arguments if isinstance(each, str)]
        is_bytes = any(isinstance(each, bytes) for each in arguments)
        if len(arguments) < fewest or is_bytes or not _UNREPEATABLE.isdisjoint(texts):
            raise ValueError(f"{name} would read the clock")
        places = ", ".join("?" * len(arguments))
        found: Cell = _plain_sqlite().execute(f"SELECT {name}({places})", arguments).fetchone()[0]
        return found

    return function


@cache
def _plain_sqlite() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)


DATE_FUNCTIONS: Final = {name: _date_function(name, fewest) for name, fewest in _ALLOWED["date_functions"].items()}


class _Watch:
    """Guard of one connection, which it does not know: SQLite's callbacks are no part of garbage collection."""

    def __init__(self) -> None:
        self.reads: set[str] = set()
        self.functions = FUNCTIONS
        self.operations = 0
        self.deadline = 0.0
        """In the thread's processor time."""

    def authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        """Permit reading the store's tables and calling harmless functions, and nothing else."""
        permits = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
        if action == sqlite3.SQLITE_READ and first in TABLES:
            self.reads |= {first, f"{first}.{second}"} if second else {first}
            permits = True
        elif action == sqlite3.SQLITE_READ:
            # A table of a WITH clause is reported by its name if none of its columns is read; only SQLite's own tables
            # have these names.
            permits = bool(first) and not second and not str(first).lower().startswith("sqlite_")
        elif action == sqlite3.SQLITE_FUNCTION:
            permits = second is not None and second.lower() in self.functions
        return sqlite3.SQLITE_OK if permits else sqlite3.SQLITE_DENY

    def progress(self) -> int:
        """Stop the query when its budget is spent."""
        self.operations -= OPERATIONS_BETWEEN_CHECKS
        return int(self.operations < 0 or time.thread_time() > self.deadline)

    def charged(self, function: Callable[..., Cell]) -> Callable[..., Cell]:
        """Return a date function that charges the budget at each call."""

        def call(*arguments: Cell) -> Cell:
            self.operations -= OPERATIONS_A_DATE
            return function(*arguments)

        return call


class Database:
    """One copy of a store. It belongs to the thread that created it."""

    def __init__(self, store: Store | Tables) -> None:
        tables = tables_of(store) if isinstance(store, Store) else store
        self.names = frozenset(TABLES).union(*(tables[name].columns for name in TABLES))
        # A cached statement is not prepared again, so that the authorizer would not see its reads.
        self._connection = connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
        for name in TABLES:
            _fill(connection, name, tables[name])
        connection.execute("ANALYZE")
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        for pragma in ("temp_store = MEMORY", "trusted_schema = OFF", "query_only = ON"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        for limit, value in _ALLOWED["limits"].items():
            connection.setlimit(getattr(sqlite3, f"SQLITE_LIMIT_{limit}"), value)
        self._watch = watch = _Watch()
        for name, function in DATE_FUNCTIONS.items():
            connection.create_function(name, -1, watch.charged(function), deterministic=True)
        connection.set_authorizer(watch.authorize)
        connection.set_progress_handler(watch.progress, OPERATIONS_BETWEEN_CHECKS)

    def execute(self, sql: str, deadline: float | None = None) -> Execution:
        """Run one hostile query until a deadline in the thread's processor time; never raises, whatever the text."""
        watch = self._watch
        is_narrow, is_oversized = _bounds(sql)
        watch.reads, watch.operations = set(), MAX_OPERATIONS
        watch.functions = FUNCTIONS | FORMATS if is_narrow else FUNCTIONS
        watch.deadline = time.thread_time() + MAX_SECONDS if deadline is None else deadline
        if is_oversized or _EXPLAIN.match(sql):
            return Execution(Refusal.TOO_MUCH if is_oversized else Refusal.FORBIDDEN, 0, (), frozenset())
        try:
            with closing(self._connection.cursor()) as cursor:
                cursor.execute(sql)
                columns = len(cursor.description or ())
                rows = tuple(cursor.fetchmany(MAX_ROWS + 1))
        except (sqlite3.Error, sqlite3.Warning, ValueError, MemoryError) as error:
            return Execution(_refusal(error), 0, (), frozenset(watch.reads))
        if not columns or len(rows) > MAX_ROWS:
            refusal = Refusal.TOO_MUCH if columns else Refusal.INVALID
            return Execution(refusal, columns, (), frozenset(watch.reads))
        return Execution(None, columns, rows, frozenset(watch.reads))


@dataclass(frozen=True)
class Databases:
    """Copies of one store with different rows: a query that is right by luck on one is wrong on another."""

    copies: tuple[Database, ...] = field(repr=False)
    _references: dict[tuple[str, bool, bool], tuple[Execution, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @classmethod
    def from_store(cls, store: Store) -> "Databases":
        """Fill one copy with a part of the store, and the others with part of its orders and with other values."""
        return cls(tuple(map(Database, copies_of(store))))

    @classmethod
    def open(cls, folder: Path) -> "Databases":
        """Read a store and fill its copies; a store without orders is one copy. InputError where it cannot be read."""
        # Imports polars.
        from schemas.store.files import read_store

        store = read_store(folder)
        return cls((Database(store),)) if store.orders.is_empty() else cls.from_store(store)

    @property
    def names(self) -> frozenset[str]:
        """Return every table's and column's name."""
        return self.copies[0].names

    def run(self, sql: str, deadline: float | None = None) -> tuple[Execution, ...]:
        """Run a hostile query on every copy, `MAX_SECONDS` for all; after a refusal the next copy is not tried.

        A query that is a reference but for its comments and blanks has that one's result, and is not run again.
        """
        known = self._references.get(_identity(sql)) if self._references else None
        return known or self._run(sql, time.thread_time() + MAX_SECONDS if deadline is None else deadline)

    def run_reference(self, sql: str) -> tuple[Execution, ...]:
        """Run a reference query on every copy; the result is cached, as every completion needs it."""
        key = _identity(sql)
        executions = self._references.pop(key, None) or self._run(sql, time.thread_time() + MAX_REFERENCE_SECONDS)
        self._references[key] = executions
        if len(self._references) > MAX_REFERENCES:
            del self._references[next(iter(self._references))]
        return executions

    def _run(self, sql: str, deadline: float) -> tuple[Execution, ...]:
        executions: list[Execution] = []
        for database in self.copies:
            refused = bool(executions) and executions[-1].refusal is not None
            executions.append(executions[-1] if refused else database.execute(sql, deadline))
        return tuple(executions)


def copies_of(store: Store) -> tuple[Store, Store, Store]:
    """Return what the copies of a store are filled with."""
    part = cut(store)
    return part, refill(part, OTHER), refill(part, TIED)


def tables_of(store: Store) -> Tables:
    """Return the tables of a store as SQLite holds them."""
    from polars import selectors

    tables = {}
    for name in TABLES:
        plain = getattr(store, name).with_columns(selectors.datetime().dt.strftime("%Y-%m-%d %H:%M:%S"))
        tables[name] = FilledTable(
            {key: _affinity(str(dtype)) for key, dtype in plain.schema.items()}, plain.iter_rows()
        )
    return tables


def _identity(sql: str) -> tuple[str, bool, bool]:
    """Return all of a query that decides its result: its text with a space for comments and blanks, and its bounds."""
    is_narrow, is_oversized = _bounds(sql)
    text = "" if is_oversized else _BETWEEN_TOKENS.sub(lambda match: " " if match[1] else match[0], sql)
    return text.strip(" "), is_narrow, is_oversized


@lru_cache(maxsize=16)
def _bounds(sql: str) -> tuple[bool, bool]:
    """Return whether every format of a query is narrow, and whether the query is too large to be run."""
    is_oversized = (
        len(sql) > MAX_SQL_CHARACTERS
        or len(_WITH_TABLE.findall(sql)) > MAX_WITH_TABLES
        or len(_LIST_ITEM.findall(sql)) > MAX_LIST_ITEMS
    )
    return len(_FORMATS.findall(sql)) == len(_NARROW_FORMAT.findall(sql)), is_oversized


def _refusal(error: Exception) -> Refusal:
    code = getattr(error, "sqlite_errorcode", None)
    # A function denied by the authorizer is an ordinary error except for its text. Only the date functions are ours,
    # and they raise only if they would read the clock.
    if code == sqlite3.SQLITE_AUTH or _FORBIDDEN.match(str(error)):
        return Refusal.FORBIDDEN
    too_much = (sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_TOOBIG)
    if isinstance(error, MemoryError) or code in too_much:
        return Refusal.TOO_MUCH
    return Refusal.INVALID


def _fill(connection: sqlite3.Connection, name: str, table: FilledTable) -> None:
    columns = ", ".join(f"{column} {affinity}" for column, affinity in table.columns.items())
    places = ", ".join("?" * len(table.columns))
    connection.execute(f"CREATE TABLE {name} ({columns})")
    connection.execute("BEGIN")
    connection.executemany(f"INSERT INTO {name} VALUES ({places})", table.rows)  # noqa: S608 - our own names
    connection.execute("COMMIT")
    for key in KEYS:
        if key in table.columns:
            connection.execute(f"CREATE INDEX {name}_{key} ON {name} ({key})")


def _affinity(dtype: str) -> str:
    if dtype.startswith(("Int", "UInt", "Boolean")):
        return "INTEGER"
    return "REAL" if dtype.startswith("Float") else "TEXT"
