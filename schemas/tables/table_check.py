"""Validation of a table against its schema, with all faults in one report."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from schemas.errors import InputError

if TYPE_CHECKING:
    from pandera.polars import DataFrameModel

FIRST_ROW: Final = 2
"""Number of the row below the header, as a spreadsheet counts."""
_MOST_ROWS: Final = 5
_COLUMN: Final = re.compile(r"[a-z0-9_]{1,60}")
_OF_NO_ROW: Final = {
    "column_in_dataframe": "it lacks the column {}",
    "column_in_schema": "it has an unknown column {}",
}


def validate_table(table: pl.DataFrame, model: "type[DataFrameModel]", what: str, first_row: int = 1) -> pl.DataFrame:
    """Return the table where it fits its schema.

    Raises:
        InputError: It does not; names every check that failed, how often and in which first rows, and no value.
    """
    faults = table_faults(table, model, range(first_row, first_row + table.height))
    if faults:
        raise InputError(f"{what}: {'; '.join(faults)}; correct it")
    return table


def table_faults(table: pl.DataFrame, model: "type[DataFrameModel]", numbers: Sequence[int]) -> list[str]:
    """Return a sentence for each check that the table does not pass."""
    from pandera.errors import SchemaErrors

    try:
        model.validate(table, lazy=True)
    except SchemaErrors as error:
        cases = error.failure_cases
    else:
        return []
    of_no_row = cases.filter(pl.col("index").is_null())
    if of_no_row.height:
        # Checks of columns that are absent, or of another type, add no information.
        return [_of_no_row(case) for case in of_no_row.sort("column", "check").to_dicts()]
    rows = cases.group_by("column", "check").agg(pl.col("index").unique().sort()).sort("column", "check")
    unique = model.to_schema().unique or ()
    return [
        f"{named_rows([numbers[index] for index in indices])}: {fault_text(column, check, model.__name__, unique)}"
        for column, check, indices in rows.iter_rows()
    ]


def columns_of(model: "type[DataFrameModel]") -> dict[str, pl.DataType]:
    """Return the types of a model's columns."""
    return {name: column.dtype.type for name, column in model.to_schema().columns.items()}


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


def _of_no_row(case: dict[str, Any]) -> str:
    kind = str(case["check"]).split("(")[0]
    if kind in _OF_NO_ROW:
        return _OF_NO_ROW[kind].format(shown_column(str(case["failure_case"])))
    return f"column {shown_column(str(case['column']))} fails {case['check']}"


def named_rows(numbers: Sequence[int]) -> str:
    """Name the first of some rows, and count the others."""
    named = ", ".join(map(str, numbers[:_MOST_ROWS]))
    more = f" and {len(numbers) - _MOST_ROWS:,} more" if len(numbers) > _MOST_ROWS else ""
    return f"row{'s' if len(numbers) > 1 else ''} {named}{more}"


def fault_text(column: str, check: str, whole: str, unique: Sequence[str] = ()) -> str:
    """Describe a failed check of a column, or of whole rows of a model, without the value: it may be a shopper's."""
    if check == "multiple_fields_uniqueness":
        return f"{', '.join(unique)} together are there more than once"
    if check == "field_uniqueness":
        return f"{column} is there more than once"
    if check == "not_nullable":
        return f"{column} is empty"
    return f"not true: {check.replace('_', ' ')}" if column == whole else f"{column} fails {check}"
