"""Rows of a shop's file, whatever its kind, as a table of texts: null is empty, lists are JSON."""

import json
from collections.abc import Collection
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl
from polars.exceptions import PolarsError
from pydantic import BaseModel, ConfigDict, model_validator

from schemas.errors import InputError
from schemas.faults import did_you_mean
from schemas.json_lines import gives_a_key_twice, stream_lines
from tasks.synthesize.own.sheets import ENDING, FileRows, read_export, read_workbook

JSON_LINES: Final = (".jsonl", ".ndjson")
MOST_ROWS: Final = 5_000_000  # Most rows of a file: more do not fit into the memory of a laptop.
MOST_BYTES: Final = 4 * 2**30
_ROWS_AT_ONCE: Final = 20_000


def read_rows(path: Path, columns: Collection[str] | None = None) -> FileRows:
    """Read columns of a file of JSON Lines, CSV, Excel or Parquet, as texts; by default all but nested ones."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); correct its path") from None
    if not path.is_file() or not size:
        raise InputError(f"{path} is {'empty; export it again' if path.is_file() else 'no file; correct its path'}")
    if size > MOST_BYTES:
        raise InputError(f"{path} is larger than {MOST_BYTES // 2**30} GB; export a shorter span")
    rows = _READERS.get(path.suffix.lower(), read_export)(path)
    _refuse_too_many(path, rows.texts.height)
    return rows if columns is None else _selected(path, rows, columns)


def _selected(path: Path, rows: FileRows, columns: Collection[str]) -> FileRows:
    for name in columns:
        if name in rows.nested:
            raise InputError(
                f"{path}: column {name!r}, {rows.nested[name]}; write texts, numbers, dates, true or false, or lists "
                "of these"
            )
        if name not in rows.texts.columns:
            near = did_you_mean(name, rows.texts.columns) or "; correct the column map"
            raise InputError(f"{path} has no column {name!r}{near}")
    return replace(rows, texts=rows.texts.select(columns))


def _refuse_too_many(path: Path, rows: int) -> None:
    if rows > MOST_ROWS:
        raise InputError(f"{path} has more than {MOST_ROWS:,} rows; export a shorter span, or split it by one")


class _Line(BaseModel):
    """Any flat object."""

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="after")
    def _is_writable(self) -> "_Line":
        try:
            json.dumps(self.model_extra, allow_nan=False, ensure_ascii=False).encode()
        except ValueError:
            raise ValueError("a number is not finite, or a character is half of one") from None
        return self


def _read_json_lines(path: Path) -> FileRows:
    parts: list[pl.DataFrame] = []
    nested: dict[str, str] = {}
    others: set[str] = set()
    lines = enumerate(stream_lines(path, _Line, "rows of"), start=1)
    while batch := list(islice(lines, _ROWS_AT_ONCE)):
        _refuse_too_many(path, batch[-1][0])
        for number, (text, _) in batch:
            if gives_a_key_twice(text):
                raise InputError(f"{path}: line {number}: a key is there twice; leave one of them out")
        documents = [line.model_extra or {} for _, (_, line) in batch]
        texts: dict[str, list[str | None]] = {}
        for name in dict.fromkeys(key for document in documents for key in document):
            values = [document.get(name) for document in documents]
            broken = (number for (number, _), value in zip(batch, values, strict=True) if not _is_plain(value))
            if (first := next(broken, None)) is not None:
                nested.setdefault(name, f"line {first} is an object or a nested list")
            if not all(value in (None, "") or _is_number(value) for value in values):
                others.add(name)
            texts[name] = [*map(_text, values)]
        parts.append(pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String)))
    whole = pl.concat(parts, how="diagonal").drop(nested)
    return FileRows(whole, 0, frozenset(whole.columns) - others, nested=nested)


def _is_plain(value: Any) -> bool:
    parts = value if isinstance(value, list) else [value]
    return not any(isinstance(part, (dict, list)) for part in parts)


def _is_number(value: Any) -> bool:
    # True and false are whole numbers of Python.
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(value: Any) -> str | None:
    """Return a value of JSON as text."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    return repr(value) if _is_number(value) else json.dumps(value, ensure_ascii=False)


def _read_parquet(path: Path) -> FileRows:
    try:
        scanned = pl.scan_parquet(path, glob=False)
        schema = scanned.collect_schema()
        texts = {name: _as_text(name, kind) for name, kind in schema.items()}
        rows = int(scanned.select(pl.len()).collect().item())
        if not rows:
            raise InputError(f"{path} has no rows; export it again")
        _refuse_too_many(path, rows)
        table = scanned.select(text for text in texts.values() if text is not None).collect()
    except (OSError, PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} cannot be read as Parquet ({reason}); export it again") from None
    numbers = frozenset(name for name in table.columns if schema[name].is_numeric())
    nested = {name: f"is of the type {schema[name]}" for name, text in texts.items() if text is None}
    return FileRows(table.select(pl.all().replace("", None)), 1, numbers, nested=nested)


def _as_text(name: str, kind: pl.DataType) -> pl.Expr | None:
    """Return a column as texts; None for a type that has none."""
    column = pl.col(name)
    if isinstance(kind, pl.Datetime):
        if kind.time_zone is not None:
            return column.dt.convert_time_zone("UTC").dt.strftime("%Y-%m-%d %H:%M:%SZ")
        return column.dt.strftime("%Y-%m-%d %H:%M:%S")
    if kind == pl.Date:
        return column.dt.strftime("%Y-%m-%d")
    if isinstance(kind, (pl.List, pl.Array)) and not kind.inner.is_nested():
        return column.map_elements(lambda part: json.dumps(part.to_list(), ensure_ascii=False), return_dtype=pl.String)
    if isinstance(kind, (pl.Categorical, pl.Enum)) or kind in (pl.String, pl.Boolean, pl.Null) or kind.is_numeric():
        return column.cast(pl.String)
    return None


_READERS: Final = {
    **dict.fromkeys(JSON_LINES, _read_json_lines),
    ".parquet": _read_parquet,
    ENDING: read_workbook,
}
