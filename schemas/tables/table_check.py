"""Schemas of tables, and their validation with all faults in one report.

No message repeats a value: it may be a shopper's.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import polars as pl

if TYPE_CHECKING:
    from pandera.polars import DataFrameSchema, PolarsData

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

    def as_pandera(self) -> "DataFrameSchema":
        """Return the schema as pandera's, which takes a second to load."""
        from pandera.polars import Check, DataFrameSchema
        from pandera.polars import Column as PanderaColumn

        def of_values(label: str, passes: Callable[[pl.Expr], pl.Expr]) -> Check:
            return Check(lambda data: data.lazyframe.select(passes(pl.col(data.key))), name=label, error=label)

        def of_rows(rule: str, holds: Callable[[pl.DataFrame], pl.Series]) -> Check:
            def verdicts(data: "PolarsData") -> pl.LazyFrame:
                return holds(data.lazyframe.collect()).fill_null(value=True).to_frame().lazy()

            return Check(verdicts, name=rule, error=rule)

        return DataFrameSchema(
            {
                name: PanderaColumn(
                    column.dtype,
                    [] if column.check is None else [of_values(*column.check)],
                    nullable=column.nullable,
                    unique=column.unique,
                    required=column.required,
                )
                for name, column in self.columns.items()
            },
            checks=[of_rows(rule, holds) for rule, holds in self.rules.items()],
            unique=list(self.unique) or None,
            strict=True,
        )

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


def table_faults(table: pl.DataFrame, schema: TableSchema, numbers: Sequence[int]) -> list[str]:
    """Return a sentence for each check that fails in a table with the schema's columns; `numbers` are its rows'."""
    return [f"{named_rows([numbers[row] for row in rows])}: {fault}" for fault, rows in broken_rows(table, schema)]


def broken_rows(table: pl.DataFrame, schema: TableSchema) -> Iterator[tuple[str, list[int]]]:
    """Yield each check that fails in a table with the schema's columns, with its rows, counted from 0."""
    from pandera.errors import SchemaErrors

    try:
        schema.as_pandera().validate(table, lazy=True)
    except SchemaErrors as error:
        # Of pandera's failure cases no message shows a value.
        rows = error.failure_cases.group_by("column", "check").agg(pl.col("index").unique().sort())
        known = {"field_uniqueness": "is there more than once", "not_nullable": "is empty"}
        for column, check, indices in rows.sort("column", "check").iter_rows():
            fault = f"{column} {known.get(check, f'fails {check}')}"
            if check == "multiple_fields_uniqueness":
                fault = more_than_once(schema.unique)
            yield f"not true: {check}" if check in schema.rules else fault, indices


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
