"""Prompts and general instructions: lines of people, rows of tables, and parquet that is written in pieces."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl
from polars.exceptions import PolarsError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from schemas.documents import Rollout, is_flat
from schemas.errors import InputError
from schemas.references import check_reference, knows_anything
from schemas.tables.table_check import FILLED, Column, TableSchema, matching, one_of
from schemas.tasks import TASK_NAMES, TaskName

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetWriter

SPLITS: Final = ("train", "validation", "test")
TRAIN_FILE: Final = "data/train.parquet"
"""File of a dataset with the prompts that train, and that choose the baselines."""
VALIDATION_FILE: Final = "data/validation.parquet"
"""File of a dataset with the prompts that choose a checkpoint."""
TEST_FILE: Final = "data/test.parquet"
"""File of a dataset with the prompts that only the evaluation reads."""
KNOWN_TO_BASE: Final = "known to base"
"""Why a held-out prompt is in a dataset's quarantine, and in its summary: the base was trained on the same words."""

MOST_NESTED: Final = 20
"""Deepest nesting of objects and lists in a reference; those of the tasks have two levels."""
_CANONICAL: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
ROWS_PER_GROUP: Final = 10_000
"""Rows of each row group but the last, however large the pieces are."""
GENERAL_FILE: Final = "data/general.parquet"
"""File of a dataset's general instructions, if it has any."""
INSTRUCTION_COLUMNS: Final = {"system": pl.String, "prompt": pl.String, "completion": pl.String}
_ROLES: Final = (["user", "assistant"], ["system", "user", "assistant"])


@dataclass(frozen=True)
class PromptRow:
    """One prompt, the known part of its right answer, and the rows of the store that it came from."""

    prompt_id: str
    task: TaskName
    system: str
    prompt: str
    reference: Mapping[str, Any]
    source: str
    """Its origin: a store, `simulated` or `olist`, a shop's `files`, a served model's `logs`, or a shop's name for its
    own prompts."""
    customer_id: str | None
    """Olist's `customer_unique_id`: the person."""
    order_id: str | None
    review_id: str | None
    parent_id: str | None = None
    """The `prompt_id` of the prompt that this one is a paraphrase of."""

    def answered(self, completion: str, **drawn: Any) -> Rollout:
        """Return the rollout of a completion, with the prompt's reference where it has one."""
        return Rollout(
            prompt_id=self.prompt_id,
            task=self.task,
            prompt=self.prompt,
            completion=completion,
            reference=dict(self.reference) if knows_anything(self.reference) else None,
            **drawn,
        )


COLUMNS: Final = dict.fromkeys(PromptRow.__dataclass_fields__, pl.String)
"""The table's columns and their types, in order; `reference` is JSON with sorted keys."""


def content_id(task: str, system: str, prompt: str, reference: Mapping[str, Any]) -> str:
    """Return the sha256, in hexadecimal, of a prompt's task, texts and reference."""
    content = {"task": task, "system": system, "prompt": prompt, "reference": reference}
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def canonical_json(value: Mapping[str, Any]) -> str:
    """Write JSON in canonical form: sorted keys, no spaces, letters unescaped."""
    return _CANONICAL.encode(value)


def read_prompts(path: Path) -> list[PromptRow]:
    """Read a prompt table; errors as of `read_prompt_table`."""
    rows = read_prompt_table(path).to_dicts()
    return [PromptRow(**{**row, "reference": json.loads(row["reference"])}) for row in rows]


def read_prompt_table(path: Path) -> pl.DataFrame:
    """Read a prompt table without checking its values."""
    table = scan_prompt_table(path)
    with reading_prompts(path):
        return table.collect()


def scan_prompt_table(path: Path) -> pl.LazyFrame:
    """Open a prompt table without reading its rows, with the same errors; read them inside `reading_prompts`."""
    with reading_prompts(path):
        table = pl.scan_parquet(path, glob=False)
        schema = table.collect_schema()
    if dict(schema) != COLUMNS:
        found = ", ".join(f"{name} {dtype}" for name, dtype in schema.items())
        wanted = ", ".join(f"{name} {dtype()}" for name, dtype in COLUMNS.items())
        raise InputError(f"{path} has the columns {found}; a prompt table has {wanted}")
    return table


@contextmanager
def reading_prompts(path: Path) -> Iterator[None]:
    """Name the file where it cannot be read: its footer may be intact while its rows are damaged."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; make it with `tucano synthesize`") from None
    except (OSError, PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path} cannot be read as parquet ({reason}); give what `tucano synthesize` makes, or JSON Lines (.jsonl)"
        ) from None


def write_prompt_table(path: Path, rows: Iterable[PromptRow]) -> None:
    """Write a prompt table, of which few rows are in memory at once; equal rows in equal order give equal bytes."""
    waiting = iter(rows)
    with open_parquet(path, COLUMNS) as table:
        while batch := list(islice(waiting, ROWS_PER_GROUP)):
            records = [{**vars(row), "reference": canonical_json(row.reference)} for row in batch]
            table.add(pl.DataFrame(records, schema=COLUMNS))


def references_that_fit(table: pl.DataFrame) -> pl.Series:
    """Return for each row whether its reference is an object of its task's shape; of an unknown task any object."""
    asked = [*zip(table["task"], table["reference"], strict=True)]
    fits = {pair: _reference_fits(*pair) for pair in dict.fromkeys(asked)}
    return pl.Series([fits[pair] for pair in asked], dtype=pl.Boolean)


def _reference_fits(task: str | None, text: str | None) -> bool:
    reference = _reference(text)
    if reference is None:
        return False
    if task not in TASK_NAMES:
        return True  # the check of the task column reports it
    try:
        check_reference(task, reference)
    except ValidationError:
        return False
    return True


def ids_that_fit(table: pl.DataFrame) -> pl.Series:
    """Return for each row whether its `prompt_id` is the `content_id` of its content."""
    known = table.select("prompt_id", "task", "system", "prompt", "reference").iter_rows()
    found = ((row, _reference(row[4])) for row in known)
    fits = (read is not None and row[0] == content_id(row[1], row[2], row[3], read) for row, read in found)
    return pl.Series(fits, dtype=pl.Boolean)


def _reference(text: str | None) -> dict[str, Any] | None:
    try:
        reference = json.loads(text or "")
        # A value that cannot be written again (a number beyond the largest float, half a surrogate pair) has no
        # identity.
        canonical_json(reference).encode()
    except (ValueError, RecursionError):
        return None
    return reference if isinstance(reference, dict) and is_flat(reference, MOST_NESTED) else None


_TEXT: Final = pl.String()
_DIGEST: Final = matching("^[0-9a-f]{64}$")
PROMPTS: Final = TableSchema(
    {
        "prompt_id": Column(_TEXT, _DIGEST),
        "task": Column(_TEXT, one_of(TASK_NAMES)),
        "system": Column(_TEXT, FILLED),
        "prompt": Column(_TEXT, FILLED),
        "reference": Column(_TEXT),
        "source": Column(_TEXT, matching("^[a-z0-9_-]{1,40}$")),
        "customer_id": Column(_TEXT, nullable=True),
        "order_id": Column(_TEXT, nullable=True),
        "review_id": Column(_TEXT, nullable=True),
        "parent_id": Column(_TEXT, _DIGEST, nullable=True),
    },
    rules={
        "reference fits its task": references_that_fit,
        # An edited prompt never keeps its old id.
        "prompt id is its content": ids_that_fit,
        "parent is another prompt": lambda table: table["parent_id"].ne_missing(table["prompt_id"]),
    },
)
"""`prompts.parquet`."""
DATASET: Final = replace(
    PROMPTS, columns={**PROMPTS.columns, "prompt_id": replace(PROMPTS.columns["prompt_id"], unique=True)}
)
"""`train`, `validation` and `test.parquet` of a dataset."""


class PromptLine(BaseModel):
    """One prompt with its reference and its origin; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: TaskName
    prompt: str = Field(min_length=1)
    reference: dict[str, Any]
    """The known part of the right answer, in the shape of its task; null marks unknown values."""
    system: str | None = Field(default=None, min_length=1)
    """The system prompt; the task's own where not given."""
    source: str = Field(default="own", pattern=r"^[a-z0-9_-]{1,40}$")
    customer_id: str | None = Field(default=None, min_length=1)
    """A pseudonym of the customer: prompts of one customer are never in different splits."""
    order_id: str | None = Field(default=None, min_length=1)
    review_id: str | None = Field(default=None, min_length=1)
    parent_id: str | None = None
    """The `prompt_id` of the prompt that this one is a paraphrase of."""
    prompt_id: str | None = None
    """The sha256 of its content; computed where not given."""

    @field_validator("reference")
    @classmethod
    def _reference_can_be_written(cls, reference: dict[str, Any]) -> dict[str, Any]:
        try:
            canonical_json(reference).encode()
        except (ValueError, RecursionError):
            raise ValueError("must be JSON with finite numbers and whole characters") from None
        return reference


class Instruction(BaseModel):
    """One instruction and its answer. Unknown keys, such as a collection's own ids, are dropped.

    The chat form, `{"messages": [{"role", "content"}, ...]}`, is read too, where it has one user turn and one answer.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    system: str = ""
    """The system prompt; empty where the collection has none."""
    prompt: str = Field(pattern=r"\S")
    completion: str = Field(pattern=r"\S")

    @model_validator(mode="before")
    @classmethod
    def _one_form(cls, line: Any) -> Any:
        if not isinstance(line, dict):
            return line
        if "messages" in line and not {"prompt", "completion"} <= line.keys():
            return _turns(line["messages"])
        # Some collections write an absent system prompt as null.
        return {key: value for key, value in line.items() if key != "system" or value is not None}


def _turns(messages: Any) -> dict[str, Any]:
    turns = messages if isinstance(messages, list) else []
    if [turn.get("role") if isinstance(turn, dict) else None for turn in turns] not in _ROLES:
        raise ValueError("messages must be one user turn and one assistant turn, after one system turn at most")
    *system, user, assistant = (turn.get("content") for turn in turns)
    return {"system": system[0] if system else "", "prompt": user, "completion": assistant}


class ParquetTable:
    """A table that grows in pieces."""

    def __init__(self, writer: "ParquetWriter", columns: Mapping[str, type[pl.DataType]]) -> None:
        """Use `open_parquet` instead."""
        self._writer = writer
        self._waiting = pl.DataFrame(schema=columns)

    def add(self, rows: pl.DataFrame) -> None:
        """Append rows; columns that are not in the table are dropped."""
        self._waiting = pl.concat([self._waiting, rows.select(self._waiting.columns)])
        whole = self._waiting.height // ROWS_PER_GROUP * ROWS_PER_GROUP
        self._write(self._waiting.head(whole))
        self._waiting = self._waiting.tail(self._waiting.height - whole)

    def flush(self) -> None:
        """Write the rows that wait for a full group."""
        self._write(self._waiting)
        self._waiting = self._waiting.clear()

    def _write(self, rows: pl.DataFrame) -> None:
        for group in rows.iter_slices(ROWS_PER_GROUP):
            # With polars: pyarrow itself would import pandas for it.
            self._writer.write_table(group.to_arrow(compat_level=pl.CompatLevel.oldest()))


@contextmanager
def open_parquet(path: Path, columns: Mapping[str, type[pl.DataType]]) -> Iterator[ParquetTable]:
    """Write a parquet file in pieces; equal rows in equal order give equal bytes, whatever the pieces."""
    from pyarrow.parquet import ParquetWriter

    schema = pl.DataFrame(schema=columns).to_arrow(compat_level=pl.CompatLevel.oldest()).schema
    with path.open("wb") as file, ParquetWriter(file, schema, compression="zstd", write_statistics=False) as writer:
        table = ParquetTable(writer, columns)
        yield table
        table.flush()
