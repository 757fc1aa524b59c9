"""Table of a served model's logs, which `tucano monitor` reads."""

from collections.abc import Iterator
from datetime import MAXYEAR
from itertools import islice
from pathlib import Path
from typing import Final

import orjson
import polars as pl
from polars.exceptions import PolarsError
from pydantic import ValidationError

from schemas.documents import FIRST_YEAR, LoggedAnswer
from schemas.errors import InputError
from schemas.faults import first_fault
from schemas.json_lines import stream_json_lines
from schemas.tables.rollout_tables import document_table, require_one_prompt_each

_AT_ONCE: Final = 50_000
_REQUIRED: Final = tuple(name for name, field in LoggedAnswer.model_fields.items() if field.is_required())


def read_production_logs(path: Path, size: int | None = None) -> pl.DataFrame:
    """Read a file of logged answers, JSON Lines or parquet, in the order of the file.

    A parquet file has columns of the same names; its times have a zone, and its references are JSON.

    Raises:
        InputError: The file cannot be read or is empty, rows are not logged answers, or one `prompt_id` has several
            prompts.
    """
    what = f"production log {path}"
    documents = (
        _parquet(path, what)
        if path.suffix == ".parquet"
        else stream_json_lines(path, LoggedAnswer, "production log", size)
    )
    parts = []
    while batch := list(islice(documents, _AT_ONCE)):
        parts.append(document_table(batch, LoggedAnswer))
    table = pl.concat(parts)
    require_one_prompt_each(table, what)
    return table


def _parquet(path: Path, what: str) -> Iterator[LoggedAnswer]:
    try:
        found = pl.read_parquet(path, glob=False)
    except (OSError, PolarsError):
        # The reader's own message may repeat the file's content.
        raise InputError(f"{what} cannot be read as parquet; write it again") from None
    if missing := [name for name in _REQUIRED if name not in found.columns]:
        raise InputError(f"{what} lacks the column {missing[0]}; a log has {', '.join(_REQUIRED)}")
    if not found.height:
        raise InputError(f"{what} is empty; it needs one answer a row")
    kind = found.schema["time"]
    if not isinstance(kind, pl.Datetime) or kind.time_zone is None:
        raise InputError(f"{what}: column time is {kind}; write times with their zone, such as UTC")
    if not found["time"].dt.year().is_between(FIRST_YEAR, MAXYEAR).all():
        raise InputError(f"{what}: column time holds years before {FIRST_YEAR} or after {MAXYEAR}; correct them")
    rows = found.select(name for name in LoggedAnswer.model_fields if name in found.columns)
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        values = dict(row)
        if values.get("reference") is not None:
            try:
                values["reference"] = orjson.loads(values["reference"])
            except (TypeError, ValueError):
                raise InputError(f"{what}: row {number}: reference is no JSON; write a JSON object, or null") from None
        try:
            yield LoggedAnswer.model_validate(values, strict=True)
        except ValidationError as error:
            raise InputError(f"{what}: row {number}: {first_fault(error)}") from None
