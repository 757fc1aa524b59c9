"""Prompts with their references: made by synthesis or a shop, split by curation, read by training and evaluation."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl
from polars.exceptions import PolarsError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from schemas.documents import Rollout, is_flat
from schemas.errors import InputError
from schemas.references import check_reference, knows_anything
from schemas.tables.parquet import ROWS_PER_GROUP, open_parquet
from schemas.tables.table_check import FILLED, Column, TableSchema, matching, one_of
from schemas.tasks import TASK_NAMES, TaskName

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
            f"{path} cannot be read as parquet ({reason}); make it again with `tucano synthesize`"
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
    fits = {pair: reference_fits(*pair) for pair in dict.fromkeys(asked)}
    return pl.Series([fits[pair] for pair in asked], dtype=pl.Boolean)


def ids_that_fit(table: pl.DataFrame) -> pl.Series:
    """Return for each row whether its `prompt_id` is the `content_id` of its content."""
    return pl.Series(map(id_fits, table.iter_rows(named=True)), dtype=pl.Boolean)


def reference_fits(task: str | None, text: str | None) -> bool:
    """Return whether a reference is a JSON object of the shape that its task, if known, needs."""
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


def id_fits(row: Mapping[str, Any]) -> bool:
    """Return whether a row's `prompt_id` is the `content_id` of its content."""
    reference = _reference(row["reference"])
    content = (row["task"], row["system"], row["prompt"])
    return reference is not None and row["prompt_id"] == content_id(*content, reference)


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
