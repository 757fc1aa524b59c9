"""Benchmark as a folder: its items, the copies of its store, and its card; read without polars or torch."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field

from schemas.disk import file_sha256
from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.tasks import TaskName
from tasks.commerce.sql_qa.sandbox import TABLES, Database, Databases, FilledTable, Tables

ITEMS_FILE: Final = "test.jsonl"
STORE_FILE: Final = "store.json"
CARD_FILE: Final = "card.json"


class BenchmarkItem(BaseModel):
    """One question of the benchmark: a line of `test.jsonl`."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(min_length=1)
    """The sha256 of its content, in hexadecimal: the `prompt_id` of the pipeline."""
    task: TaskName
    system: str
    """The system message, equal for all items of a task."""
    prompt: str
    """The user's message."""
    reference: dict[str, Any]
    """Known facts of the right answer, which only the scorers read."""
    canary: str = ""
    """Text that marks the benchmark in whatever a model was trained on; the card has it too."""

    def answered(self, completion: str) -> Rollout:
        """Return the rollout of a completion."""
        return Rollout(
            prompt_id=self.id, task=self.task, prompt=self.prompt, completion=completion, reference=self.reference
        )


def read_databases(folder: Path) -> Databases:
    """Fill the sandbox with the copies of the store; they belong to the thread that calls."""
    path = folder / STORE_FILE
    try:
        copies: list[dict[str, Any]] = orjson.loads(path.read_bytes())["copies"]
        tables = [
            {name: FilledTable(dict(copy[name]["columns"]), copy[name]["rows"]) for name in TABLES} for copy in copies
        ]
        return Databases(tuple(map(Database, tables)))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give the folder of a benchmark") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is no store of a benchmark ({error!r}); write the benchmark again") from None


def write_folder(
    folder: Path, items: Iterable[BenchmarkItem], copies: Sequence[Tables], card: Mapping[str, Any]
) -> None:
    """Write a benchmark; equal content gives equal bytes, whatever the version of SQLite."""
    (folder / ITEMS_FILE).write_bytes(b"".join(_line(item.model_dump()) for item in items))
    write_databases(folder, copies)
    digests = {name: file_sha256(folder / name) for name in (ITEMS_FILE, STORE_FILE)}
    text = json.dumps({**card, "sha256": digests}, indent=2, ensure_ascii=False, sort_keys=True)
    (folder / CARD_FILE).write_text(f"{text}\n", encoding="utf-8")


def write_databases(folder: Path, copies: Iterable[Tables]) -> None:
    """Write the copies of a store as `read_databases` reads them."""
    tables = [
        {name: {"columns": [*table.columns.items()], "rows": [*table.rows]} for name, table in copy.items()}
        for copy in copies
    ]
    (folder / STORE_FILE).write_bytes(_line({"copies": tables}))


def _line(document: Mapping[str, Any]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS) + b"\n"
