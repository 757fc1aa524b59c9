"""Prompts with their references: the table that synthesis makes, curation splits, and training and evaluation read."""

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.errors import InputError
from schemas.tasks import TaskName

if TYPE_CHECKING:
    from pyarrow import Schema
    from pyarrow.parquet import ParquetWriter

ROWS_PER_GROUP: Final = 10_000
"""Rows of a prompt table that are in memory at once while it is written row by row."""
COLUMNS: Final = {
    "prompt_id": pl.String,
    "task": pl.String,
    "system": pl.String,
    "prompt": pl.String,
    "reference": pl.String,
    "source": pl.String,
    "customer_id": pl.String,
    "order_id": pl.String,
    "review_id": pl.String,
    "parent_id": pl.String,
}
"""The table's columns and their types, in order; `reference` is JSON with sorted keys."""

_CANONICAL: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True)
class PromptRow:
    """One prompt, what is known of its right answer, and the rows of the store that it came from."""

    prompt_id: str
    """The `content_id` of the prompt."""
    task: TaskName
    system: str
    prompt: str
    reference: Mapping[str, Any]
    source: str
    """The kind of store that it was made from: `simulated` or `olist`."""
    customer_id: str | None
    """Olist's `customer_unique_id`: the person."""
    order_id: str | None
    review_id: str | None
    parent_id: str | None = None
    """The `prompt_id` of the prompt that this one is a paraphrase of."""


def content_id(task: str, system: str, prompt: str, reference: Mapping[str, Any]) -> str:
    """Return the sha256, in hexadecimal, of what a prompt asks and of what is known of its answer."""
    content = {"task": task, "system": system, "prompt": prompt, "reference": reference}
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def canonical_json(value: Mapping[str, Any]) -> str:
    """Write JSON in one way only: sorted keys, no spaces, letters as they are.

    Raises:
        ValueError: A number is not finite.
    """
    return _CANONICAL.encode(value)


def prompt_table(rows: Iterable[PromptRow]) -> pl.DataFrame:
    """Return the rows as a table of `COLUMNS`, in their order."""
    records = [{**vars(row), "reference": canonical_json(row.reference)} for row in rows]
    return pl.DataFrame(records, schema=COLUMNS)


def read_prompts(path: Path) -> list[PromptRow]:
    """Read a prompt table that curation has let through.

    Raises:
        InputError: The file is not such a table.
    """
    return [
        PromptRow(**{**row, "reference": json.loads(row["reference"])}) for row in read_prompt_table(path).to_dicts()
    ]


def read_prompt_table(path: Path) -> pl.DataFrame:
    """Read a prompt table, its values unchecked.

    Raises:
        InputError: The file cannot be read as parquet, or has not exactly the columns of `COLUMNS`.
    """
    try:
        table = pl.read_parquet(path)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; make it with `tucano synthesize`") from None
    except (OSError, PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path} cannot be read as parquet ({reason}); make it again with `tucano synthesize`"
        ) from None
    if dict(table.schema) != COLUMNS:
        found = ", ".join(f"{name} {dtype}" for name, dtype in table.schema.items())
        wanted = ", ".join(f"{name} {dtype()}" for name, dtype in COLUMNS.items())
        raise InputError(f"{path} has the columns {found}; a prompt table has {wanted}")
    return table


def write_prompt_table(table: pl.DataFrame, path: Path) -> None:
    """Write a prompt table as parquet; equal tables give equal bytes."""
    content = io.BytesIO()
    table.write_parquet(content, compression="zstd", statistics=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not by polars: its error on a full disk is not an OSError.
    path.write_bytes(content.getvalue())


class PromptTableWriter:
    """A prompt table that grows by rows, of which few are in memory at once."""

    def __init__(self, writer: "ParquetWriter") -> None:
        """Use `open_prompt_table` instead."""
        self._writer = writer
        self._columns: dict[str, list[str | None]] = {name: [] for name in COLUMNS}

    def add(self, row: PromptRow) -> None:
        """Append one row."""
        values = {**vars(row), "reference": canonical_json(row.reference)}
        for name, column in self._columns.items():
            column.append(values[name])
        if len(self._columns["prompt_id"]) == ROWS_PER_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait, as one row group."""
        if self._columns["prompt_id"]:
            # By polars: pyarrow itself would import pandas for it.
            rows = pl.DataFrame(self._columns, schema=COLUMNS)
            self._writer.write_table(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
            self._columns = {name: [] for name in COLUMNS}


@contextmanager
def open_prompt_table(path: Path) -> Iterator[PromptTableWriter]:
    """Write a prompt table row by row; equal rows in equal order give equal bytes.

    Args:
        path: The parquet file, in a folder that exists.

    Raises:
        OSError: The disk is full, or the file cannot be written.
    """
    from pyarrow.parquet import ParquetWriter

    with (
        path.open("wb") as file,
        ParquetWriter(file, _arrow_schema(), compression="zstd", write_statistics=False) as writer,
    ):
        table = PromptTableWriter(writer)
        yield table
        table.flush()


def _arrow_schema() -> "Schema":
    import pyarrow as pa

    return pa.schema([(name, pa.large_string()) for name in COLUMNS])
