"""Rows of a shop's file, whatever its kind, as a table of texts: null is empty, lists are JSON."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.did_you_mean import did_you_mean
from schemas.errors import InputError
from schemas.tables.delimited import read_delimited

JSON_LINES: Final = (".jsonl", ".ndjson")
PARQUET: Final = ".parquet"
MOST_ROWS: Final = 5_000_000
"""Most rows of a file: more do not fit into the memory of a laptop."""
MOST_BYTES: Final = 4 * 2**30
LONGEST_LINE: Final = 1_000_000
"""Most bytes of a JSON line."""
_ROWS_AT_ONCE: Final = 20_000
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class FileRows:
    """Rows of a file."""

    texts: pl.DataFrame
    """The cells as texts; null where one is empty."""
    numbers: frozenset[str] = frozenset()
    """Columns whose cells were all numbers: a text such as "1.234" may be more than a thousand, and the number is not.
    """


def has_lines(path: Path) -> bool:
    """Return whether a file is JSON Lines, whose rows are counted from 1 and have no header."""
    return path.suffix.lower() in JSON_LINES


def read_rows(path: Path, columns: Collection[str]) -> FileRows:
    """Read some columns of a file, as texts.

    Args:
        path: JSON Lines, CSV or Parquet.
        columns: Names of the columns; a file of JSON Lines may leave a key out of some lines.

    Raises:
        InputError: The file cannot be read, is empty, too large or malformed, has no such column, or a value of it is
            none of a text, a number, a date, true or false, or a list of texts and numbers.
    """
    _refuse_what_is_no_file(path)
    if has_lines(path):
        return _read_json_lines(path, columns)
    if path.suffix.lower() == PARQUET:
        return _read_parquet(path, columns)
    table = read_delimited(path)
    _refuse_absent(path, columns, table.columns)
    _refuse_too_many(path, table.height)
    return FileRows(table.select(columns))


def _refuse_what_is_no_file(path: Path) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); correct its path in the column map") from None
    if not path.is_file():
        raise InputError(f"{path} is no file; correct its path in the column map")
    if not size:
        raise InputError(f"{path} is empty; export it again")
    if size > MOST_BYTES:
        raise InputError(f"{path} is larger than {MOST_BYTES // 2**30} GB; export a shorter span")


def _refuse_absent(path: Path, columns: Collection[str], present: Collection[str]) -> None:
    for name in columns:
        if name not in present:
            near = did_you_mean(name, present) or "; correct the column map"
            raise InputError(f"{path} has no column {name!r}{near}")


def _refuse_too_many(path: Path, rows: int) -> None:
    if rows > MOST_ROWS:
        raise InputError(f"{path} has more than {MOST_ROWS:,} rows; export a shorter span, or split it by one")


def _read_json_lines(path: Path, columns: Collection[str]) -> FileRows:
    schema = dict.fromkeys(columns, pl.String)
    parts = [pl.DataFrame(schema=schema)]
    waiting: dict[str, list[str | None]] = {name: [] for name in columns}
    seen: dict[str, None] = {}
    others: set[str] = set()
    number = 0
    for number, document in _documents(path):
        seen |= dict.fromkeys(document)
        for name, values in waiting.items():
            try:
                value = document.get(name)
                values.append(_text(value))
            except ValueError as error:
                raise InputError(f"{path}: column {name!r}, line {number} {error}; correct it") from None
            if values[-1] is not None and not _is_number(value):
                others.add(name)
        if number % _ROWS_AT_ONCE == 0:
            _refuse_too_many(path, number)
            parts.append(pl.DataFrame(waiting, schema=schema))
            waiting = {name: [] for name in columns}
    if not number:
        raise InputError(f"{path} is empty; export it again")
    _refuse_absent(path, columns, seen)
    return FileRows(pl.concat([*parts, pl.DataFrame(waiting, schema=schema)]), frozenset(columns) - others)


def _documents(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield each line's number and object; blank lines at the end are left out."""
    blank: int | None = None
    with path.open("rb") as lines:
        number = 0
        while line := lines.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise InputError(
                    f"{path}: line {number} is longer than {LONGEST_LINE // 10**6} MB; write one object a line"
                )
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            if not line.strip():
                blank = blank or number
                continue
            if blank is not None:
                raise InputError(f"{path}: line {blank} is blank; remove it")
            yield number, _object(path, number, line)


def _object(path: Path, number: int, line: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(line.decode("utf-8"), object_pairs_hook=_with_single_keys, parse_constant=_no_number)
    except UnicodeDecodeError:
        raise InputError(f"{path}: line {number} is not UTF-8; save it as UTF-8") from None
    except RecursionError:
        raise InputError(f"{path}: line {number} is nested too deeply; write one flat object a line") from None
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise InputError(f"{path}: line {number} is no JSON ({reason}); correct it") from None
    if not isinstance(document, dict):
        raise InputError(f"{path}: line {number} is no JSON object; write one flat object a line")
    return document


def _with_single_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _is_number(value: Any) -> bool:
    # True and false are whole numbers of Python.
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(value: Any) -> str | None:
    """Return a value of JSON as text."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if _is_number(value):
        return repr(value)
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, list) and all(isinstance(part, (str, int, float)) for part in value):
        return _encodable(json.dumps(value, ensure_ascii=False))
    raise ValueError("is an object or a nested list, and not a text or a number")


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("has half a character") from None
    return text


def _read_parquet(path: Path, columns: Collection[str]) -> FileRows:
    try:
        scanned = pl.scan_parquet(path, glob=False)
        schema = scanned.collect_schema()
        _refuse_absent(path, columns, schema.names())
        texts = [_as_text(path, name, schema[name]) for name in columns]
        rows = int(scanned.select(pl.len()).collect().item())
        if not rows:
            raise InputError(f"{path} has no rows; export it again")
        _refuse_too_many(path, rows)
        table = scanned.select(texts).collect()
    except (OSError, PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} cannot be read as Parquet ({reason}); export it again") from None
    numbers = frozenset(name for name in columns if schema[name].is_numeric())
    return FileRows(table.select(pl.all().replace("", None)), numbers)


def _as_text(path: Path, name: str, kind: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if isinstance(kind, pl.Datetime):
        if kind.time_zone is not None:
            column = column.dt.convert_time_zone("UTC")
            return column.dt.strftime("%Y-%m-%d %H:%M:%SZ")
        return column.dt.strftime("%Y-%m-%d %H:%M:%S")
    if kind == pl.Date:
        return column.dt.strftime("%Y-%m-%d")
    if isinstance(kind, (pl.List, pl.Array)) and not kind.inner.is_nested():
        return column.map_elements(lambda part: json.dumps(part.to_list(), ensure_ascii=False), return_dtype=pl.String)
    if isinstance(kind, (pl.Categorical, pl.Enum)) or kind in (pl.String, pl.Boolean, pl.Null) or kind.is_numeric():
        return column.cast(pl.String)
    raise InputError(
        f"{path}: column {name!r} is of the type {kind}; write texts, numbers, dates, true or false, or lists of these"
    )
