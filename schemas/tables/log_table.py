"""Table schema of a served model's logs, which `tucano monitor` reads.

Import it inside the function that reads a log: pandera takes a second to load.
"""

from collections.abc import Iterable, Iterator
from datetime import MAXYEAR
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import pandera.polars as pa
import polars as pl
from pandera.polars import PolarsData
from polars.exceptions import PolarsError

from schemas.documents import (
    FIRST_YEAR,
    MOST_DOLLARS,
    MOST_MILLISECONDS,
    LoggedAnswer,
    check_logged_reference,
)
from schemas.errors import InputError
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
    table = _parquet(path, what) if path.suffix == ".parquet" else _json_lines(path, size)
    return validate_table(table, ProductionLogs, what)


def _json_lines(path: Path, size: int | None) -> pl.DataFrame:
    documents = iter(stream_json_lines(path, LoggedAnswer, "production log", size))
    return pl.concat([as_table(each, ProductionLogs) for each in _batches(documents)])


def _batches(documents: Iterator[LoggedAnswer]) -> Iterator[Iterable[LoggedAnswer]]:
    while batch := list(islice(documents, _AT_ONCE)):
        yield batch


def _parquet(path: Path, what: str) -> pl.DataFrame:
    schema = {name: column.dtype.type for name, column in ProductionLogs.to_schema().columns.items()}
    try:
        file = pl.scan_parquet(path, glob=False)
        found = file.collect_schema()
        given = file.select(name for name in schema if name in found).collect()
    except (OSError, PolarsError):
        # The reader's own message may repeat the file's content.
        raise InputError(f"{what} cannot be read as parquet; write it again") from None
    if missing := [name for name in _REQUIRED if name not in found]:
        raise InputError(f"{what} lacks the column {missing[0]}; a log has {', '.join(_REQUIRED)}")
    if not given.height:
        raise InputError(f"{what} is empty; it needs one answer a row")
    kind = given.schema["time"]
    if not isinstance(kind, pl.Datetime) or kind.time_zone is None:
        raise InputError(f"{what}: column time is {kind}; write times with their zone, such as UTC")
    if not given["time"].dt.year().is_between(FIRST_YEAR, MAXYEAR).all():
        raise InputError(f"{what}: column time holds years before {FIRST_YEAR} or after {MAXYEAR}; correct them")
    table = given.with_columns(pl.col("time").dt.convert_time_zone("UTC").dt.cast_time_unit("us"))
    for name, wanted in schema.items():
        if name not in table.columns:
            table = table.with_columns(pl.lit(None, wanted).alias(name))
        elif _holds_the_same(table.schema[name], wanted):
            table = table.with_columns(pl.col(name).cast(wanted))
    table = table.select(*schema)
    if table.schema["reference"] == pl.String:
        _check_references(table, what)
    return table


def _holds_the_same(kind: pl.DataType, wanted: Any) -> bool:
    """Return whether a column can be cast to another type without loss; the schema refuses all others."""
    if kind == pl.Null or isinstance(kind, pl.Categorical | pl.Enum):
        return True
    if kind.is_integer():
        return kind != pl.UInt64 and wanted in {pl.Int64, pl.Float64}
    return kind.is_float() and wanted == pl.Float64


def _check_references(table: pl.DataFrame, what: str) -> None:
    rows = table.with_row_index("row", offset=1).filter(pl.col("reference").is_not_null())
    for row, task, reference in (
        rows.unique(["task", "reference"], keep="first").sort("row").select("row", "task", "reference").iter_rows()
    ):
        try:
            document = orjson.loads(reference)
        except ValueError:
            raise InputError(f"{what}: row {row}: reference is no JSON; write it as a JSON object, or null") from None
        if task in TASK_NAMES:
            try:
                check_logged_reference(task, document)
            except ValueError as error:
                raise InputError(f"{what}: row {row}: {error}") from None
