"""Tables of documents whose lines were validated one by one, and what must hold from row to row of them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl
from pydantic import BaseModel

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.json_lines import read_json_lines
from schemas.tables.table_check import as_table, more_than_once, named_rows

_TYPES: Final[Mapping[str, Any]] = {"integer": pl.Int64(), "number": pl.Float64(), "boolean": pl.Boolean()}
ONE_PROMPT: Final = {"one prompt for each prompt id": ("prompt_id", ("task", "prompt"))}
"""Rule of rollouts and logs; rows without an id are of no prompt."""


def document_table(documents: Iterable[BaseModel], model: type[BaseModel]) -> pl.DataFrame:
    """Return documents as a table with a column a field; an object is JSON, and a time is in UTC."""
    columns = {}
    for name, described in model.model_json_schema()["properties"].items():
        kind = next(each for each in described.get("anyOf", [described]) if each.get("type") != "null")
        is_time = kind.get("format") == "date-time"
        columns[name] = pl.Datetime("us", "UTC") if is_time else _TYPES.get(kind.get("type", ""), pl.String())
    return as_table(documents, columns)


def row_faults(
    table: pl.DataFrame,
    numbers: Sequence[int],
    same: Mapping[str, tuple[str, tuple[str, ...]]],
    unique: tuple[str, ...] = (),
) -> list[str]:
    """Return a sentence for each rule that does not hold from row to row; `numbers` are the rows' in the file.

    `same` has by a rule's name a key and the columns that are equal in all rows with that key.
    """
    faults = []
    for rule, (key, columns) in same.items():
        equal = [pl.col(column).eq_missing(pl.col(column).first().over(key)) for column in columns]
        right = table.select(pl.col(key).is_null() | pl.all_horizontal(equal)).to_series()
        faults += [f"{_named(~right, numbers)}: not true: {rule}"] * (not right.all())
    twice = table.select(unique).is_duplicated() if unique else pl.Series([], dtype=pl.Boolean)
    faults += [f"{_named(twice, numbers)}: {more_than_once(unique)}"] * twice.any()
    return faults


def _named(broken: pl.Series, numbers: Sequence[int]) -> str:
    return named_rows([numbers[place] for place in broken.arg_true()])


def require_one_prompt_each(table: pl.DataFrame, what: str) -> None:
    """Refuse a table in which one `prompt_id` has several prompts."""
    if faults := row_faults(table, range(1, table.height + 1), ONE_PROMPT):
        raise InputError(f"{what}: {'; '.join(faults)}; correct it")


def read_rollouts(path: Path) -> tuple[Rollout, ...]:
    """Read a JSON Lines file of rollouts."""
    rollouts = read_json_lines(path, Rollout, "rollouts")
    require_one_prompt_each(document_table(rollouts, Rollout), f"rollouts {path}")
    return rollouts
