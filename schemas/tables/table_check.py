"""Schemas of tables, and their validation with all faults in one report.

No message repeats a value: it may be a shopper's.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from schemas.errors import InputError

FIRST_ROW: Final = 2
"""Number of the row below the header, as a spreadsheet counts."""
_MOST_ROWS: Final = 5
_COLUMN: Final = re.compile(r"[a-z0-9_]{1,60}")

Check = tuple[str, Callable[[pl.Expr], pl.Expr]]
"""What a message calls a check, and the expression of the values that pass; an unknown value passes."""


@dataclass(frozen=True)
class Column:
    """Type and permitted values of a column."""

    dtype: pl.DataType
    check: Check | None = None
    nullable: bool = False
    unique: bool = False
    required: bool = True


@dataclass(frozen=True)
class TableSchema:
    """Columns of a table, which has no other, and what must hold from column to column."""

    columns: Mapping[str, Column]
    unique: tuple[str, ...] = ()
    """Columns that no two rows have in common."""
    rules: Mapping[str, Callable[[pl.DataFrame], pl.Series]] = field(default_factory=dict)
    """Returns for each row whether it is right, by the rule's sentence; unknown is right."""

    def empty(self) -> pl.DataFrame:
        """Return the table without rows."""
        return pl.DataFrame(schema=self.types)

    @property
    def types(self) -> dict[str, pl.DataType]:
        """Return the types of the columns."""
        return {name: column.dtype for name, column in self.columns.items()}


def at_least(least: int) -> Check:
    """Require numbers of at least this."""
    return f"greater_than_or_equal_to({least})", lambda value: value >= least


def between(least: int, most: int) -> Check:
    """Require numbers in a range with both its ends."""
    return f"in_range({least}, {most})", lambda value: value.is_between(least, most)


def one_of(choices: Sequence[str]) -> Check:
    """Require one of some texts."""
    return f"isin({choices})", lambda value: value.is_in(list(choices))


def matching(pattern: str) -> Check:
    """Require texts that match a pattern from their beginning."""
    return f"str_matches({pattern!r})", lambda value: value.str.contains(pattern)


FILLED: Final[Check] = ("str_length(1, None)", lambda value: value.str.len_bytes() > 0)
"""Requires a text that is not empty."""


def validate_table(table: pl.DataFrame, schema: TableSchema, what: str, first_row: int = 1) -> pl.DataFrame:
    """Return the table where it fits its schema.

    Raises:
        InputError: It does not; names every check that failed, how often and in which first rows.
    """
    faults = table_faults(table, schema, range(first_row, first_row + table.height))
    if faults:
        raise InputError(f"{what}: {'; '.join(faults)}; correct it")
    return table


def table_faults(table: pl.DataFrame, schema: TableSchema, numbers: Sequence[int]) -> list[str]:
    """Return a sentence for each check that the table does not pass; `numbers` are its rows' in the file."""
    required = [name for name, column in schema.columns.items() if column.required]
    types = schema.types
    # Checks of columns that are absent, or of another type, add no information.
    faults = [f"it lacks the column {shown_column(name)}" for name in required if name not in table.columns]
    faults += [f"it has an unknown column {shown_column(name)}" for name in table.columns if name not in types]
    faults += [
        f"column {name} fails dtype({str(types[name])!r})"
        for name, found in table.schema.items()
        if name in types and found != types[name]
    ]
    if faults:
        return faults
    return [f"{named_rows([numbers[row] for row in rows])}: {fault}" for fault, rows in broken_rows(table, schema)]


def broken_rows(table: pl.DataFrame, schema: TableSchema) -> Iterator[tuple[str, list[int]]]:
    """Yield each check that fails in a table with the schema's columns, with its rows, counted from 0."""
    for fault, is_right in _verdicts(table, schema):
        rows = (~is_right.fill_null(value=True)).arg_true().to_list()
        if rows:
            yield fault, rows


def _verdicts(table: pl.DataFrame, schema: TableSchema) -> Iterator[tuple[str, pl.Series]]:
    if schema.unique:
        yield more_than_once(schema.unique), ~table.select(schema.unique).is_duplicated()
    for rule, holds in sorted(schema.rules.items()):
        yield f"not true: {rule}", holds(table)
    for name, column in sorted(schema.columns.items()):
        if name not in table.columns:
            continue
        values = table[name]
        if column.unique:
            yield f"{name} is there more than once", ~values.is_duplicated()
        if not column.nullable:
            yield f"{name} is empty", values.is_not_null()
        if column.check is not None:
            label, holds_for = column.check
            yield f"{name} fails {label}", table.select(holds_for(pl.col(name))).to_series()


def more_than_once(columns: Sequence[str]) -> str:
    """Return the fault of rows that have some columns in common."""
    return f"{', '.join(columns)} together are there more than once"


def as_table(documents: Iterable[object], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return documents as a table of some of their fields; an object in a document becomes its JSON."""
    columns: dict[str, list[Any]] = {name: [] for name in schema}
    for document in documents:
        for name, column in columns.items():
            value = getattr(document, name)
            column.append(json.dumps(value, sort_keys=True) if isinstance(value, dict) else value)
    return pl.DataFrame(columns, schema=dict(schema))


def shown_column(name: str) -> str:
    """Return a column's name for a message; where the header is missing, it is a cell of the first row."""
    return name if _COLUMN.fullmatch(name) else f"with a name of {len(name):,} characters"


def named_rows(numbers: Sequence[int]) -> str:
    """Name the first of some rows, and count the others."""
    named = ", ".join(map(str, numbers[:_MOST_ROWS]))
    more = f" and {len(numbers) - _MOST_ROWS:,} more" if len(numbers) > _MOST_ROWS else ""
    return f"row{'s' if len(numbers) > 1 else ''} {named}{more}"
