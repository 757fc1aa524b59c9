"""Check of prompts by each engine, and the child of `benchmarks.schema` that runs one and prints its figures."""

import hashlib
import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, Final

import polars as pl

POLARS: Final = "polars"
COLUMNS: Final = "pandas, over columns"
ROWS: Final = "pandas, apply"
WHOLE: Final = ("reference_fits_its_task", "prompt_id_is_its_content", "parent_is_another_prompt")
"""Checks of whole rows; pandera's engines report their columns differently."""


@dataclass(frozen=True)
class Run:
    """One check of all rows, in a process of its own."""

    seconds: float
    """Time of the check alone."""
    peak_gigabytes: float
    """Peak of the process's resident memory, rows and libraries included."""
    broken: list[tuple[int, str]]
    """Row and check of each failure."""


def _with_polars(file: Path) -> Run:
    from schemas.tables.prompt_table import Prompts

    table = pl.read_parquet(file)
    return _timed(lambda: Prompts.validate(table, lazy=True))


def _over_columns(file: Path) -> Run:
    return _with_pandas(file, _references_by_columns, _ids_by_columns)


def _by_rows(file: Path) -> Run:
    return _with_pandas(file, _references_by_rows, _ids_by_rows)


ENGINES: Final[Mapping[str, Callable[[Path], Run]]] = {POLARS: _with_polars, COLUMNS: _over_columns, ROWS: _by_rows}


def _with_pandas(file: Path, references: Callable[[Any], list[bool]], ids: Callable[[Any], list[bool]]) -> Run:
    import pandas as pd  # type: ignore[import-untyped]
    import pandera.pandas as pa

    from schemas.tables.prompt_table import Prompts

    frame = pd.read_parquet(file)
    columns = {
        name: pa.Column(str, checks=column.checks, nullable=column.nullable)
        for name, column in Prompts.to_schema().columns.items()
    }
    checks = [
        pa.Check(
            lambda rows: pd.Series(references(rows), index=rows.index), name="reference_fits_its_task", ignore_na=False
        ),
        pa.Check(lambda rows: pd.Series(ids(rows), index=rows.index), name="prompt_id_is_its_content", ignore_na=False),
        pa.Check(lambda rows: rows["parent_id"] != rows["prompt_id"], name="parent_is_another_prompt"),
    ]
    schema = pa.DataFrameSchema(columns, checks=checks, strict=True, name=Prompts.__name__)
    return _timed(lambda: schema.validate(frame, lazy=True))


def _references_by_columns(frame: Any) -> list[bool]:
    from schemas.tables.prompt_checks import reference_fits

    tasks, texts = _column(frame, "task"), _column(frame, "reference")
    fits = {pair: reference_fits(*pair) for pair in set(zip(tasks, texts, strict=True))}
    return [fits[pair] for pair in zip(tasks, texts, strict=True)]


def _ids_by_columns(frame: Any) -> list[bool]:
    texts = _column(frame, "reference")
    contents = [_column(frame, name) for name in ("task", "system", "prompt")]
    canonical = {text: _canonical(text) for text in set(texts)}
    identities = [
        hashlib.sha256(
            f'{{"prompt":{_quoted(prompt)},"reference":{canonical[text]},'
            f'"system":{_quoted(system)},"task":{_quoted(task)}}}'.encode()
        ).hexdigest()
        for task, system, prompt, text in zip(*contents, texts, strict=True)
    ]
    return [identity == given for identity, given in zip(identities, frame["prompt_id"].tolist(), strict=True)]


def _references_by_rows(frame: Any) -> list[bool]:
    from schemas.tables.prompt_checks import reference_fits

    verdicts = frame.apply(lambda row: reference_fits(_known(row["task"]), _known(row["reference"])), axis=1)
    return list(verdicts)


def _ids_by_rows(frame: Any) -> list[bool]:
    from schemas.tables.prompt_checks import id_fits

    return list(frame.apply(lambda row: id_fits({name: _known(value) for name, value in row.items()}), axis=1))


def _column(frame: Any, name: str) -> list[str | None]:
    values: list[Any] = frame[name].tolist()
    return [_known(value) for value in values] if frame[name].hasnans else values


def _known(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _quoted(text: str | None) -> str:
    return "null" if text is None else encode_basestring(text)


def _canonical(text: str | None) -> str:
    """Return a reference as it enters an identity; an invalid one becomes a text that no JSON begins with."""
    from schemas.tables.prompts import canonical_json

    try:
        return canonical_json(json.loads(text or ""))
    except (ValueError, RecursionError):
        return "?"


def _timed(check: Callable[[], object]) -> Run:
    from pandera.errors import SchemaErrors

    failures: Any = None
    started = time.perf_counter()
    try:
        check()
    except SchemaErrors as error:
        failures = error.failure_cases
    seconds = time.perf_counter() - started
    broken: set[tuple[int, str]] = set()
    if failures is not None:
        for column, name, row in zip(*(list(failures[part]) for part in ("column", "check", "index")), strict=True):
            kind = name.split("(")[0]
            broken.add((int(row), kind if kind in WHOLE else f"{column}: {kind}"))
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return Run(seconds, peak / 1e9, sorted(broken))


if __name__ == "__main__":
    print(json.dumps(vars(ENGINES[sys.argv[1]](Path(sys.argv[2])))))
