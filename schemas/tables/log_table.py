"""Table schema of a served model's logs, which `tucano monitor` reads.

Import it inside the function that reads a log: pandera takes a second to load.
"""

from collections.abc import Iterator
from datetime import MAXYEAR
from itertools import islice
from pathlib import Path
from typing import Annotated, Final

import orjson
import pandera.polars as pa
import polars as pl
from pandera.polars import PolarsData
from polars.exceptions import PolarsError
from pydantic import ValidationError

from schemas.documents import FIRST_YEAR, MOST_DOLLARS, MOST_MILLISECONDS, LoggedAnswer
from schemas.errors import InputError
from schemas.faults import first_fault
from schemas.json_lines import stream_json_lines
from schemas.tables.rollout_tables import one_value_each
from schemas.tables.table_check import as_table, validate_table
from schemas.tasks import TASK_NAMES

_AT_ONCE: Final = 50_000
_REQUIRED: Final = tuple(name for name, field in LoggedAnswer.model_fields.items() if field.is_required())


class ProductionLogs(pa.DataFrameModel):  # type: ignore[misc]
    """Production requests and answers; times are in UTC, and `reference` is JSON."""

    request_id: str = pa.Field(nullable=True, str_length={"min_value": 1})
    prompt_id: str = pa.Field(nullable=True, str_length={"min_value": 1})
    task: str = pa.Field(isin=TASK_NAMES)
    prompt: str = pa.Field()
    completion: str = pa.Field()
    time: Annotated[pl.Datetime, "us", "UTC"] = pa.Field()
    model_version: str = pa.Field(nullable=True, str_length={"min_value": 1})
    latency_ms: float = pa.Field(in_range={"min_value": 0, "max_value": MOST_MILLISECONDS})
    cost: float = pa.Field(nullable=True, in_range={"min_value": 0, "max_value": MOST_DOLLARS})
    reference: str = pa.Field(nullable=True)
    reward: float = pa.Field(nullable=True, in_range={"min_value": 0, "max_value": 1})
    rating: int = pa.Field(nullable=True, in_range={"min_value": 1, "max_value": 5})
    role: str = pa.Field(nullable=True)
    shadow_of: str = pa.Field(nullable=True, str_length={"min_value": 1})

    class Config:
        """Exactly these columns."""

        strict = True

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def one_prompt_for_each_prompt_id(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Require one prompt text per `prompt_id`; rows without an id always pass."""
        same = one_value_each(data, "prompt_id", "task", "prompt").collect().to_series()
        verdict: pl.LazyFrame = data.lazyframe.select(pl.col("prompt_id").is_null() | same)
        return verdict


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
        parts.append(as_table(batch, ProductionLogs))
    return validate_table(pl.concat(parts), ProductionLogs, what)


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
