"""What a served model's log must look like as a table: `tucano monitor` reads it.

Import it inside the function that reads a log: pandera takes a second to load.
"""

from pathlib import Path
from typing import Annotated

import pandera.polars as pa
import polars as pl
from pandera.polars import PolarsData

from schemas.documents import LoggedAnswer
from schemas.json_lines import stream_json_lines
from schemas.rollout_tables import one_value_each
from schemas.table_check import as_table, validate_table
from schemas.tasks import TASK_NAMES


class ProductionLogs(pa.DataFrameModel):  # type: ignore[misc]
    """What a model was asked in production and answered; times are in UTC."""

    request_id: str = pa.Field(unique=True, str_length={"min_value": 1})
    prompt_id: str = pa.Field(str_length={"min_value": 1})
    task: str = pa.Field(isin=TASK_NAMES)
    prompt: str = pa.Field()
    completion: str = pa.Field()
    time: Annotated[pl.Datetime, "us", "UTC"] = pa.Field()
    model_version: str = pa.Field(str_length={"min_value": 1})
    latency_ms: float = pa.Field(ge=0)
    reward: float = pa.Field(nullable=True, in_range={"min_value": 0, "max_value": 1})
    rating: int = pa.Field(nullable=True, in_range={"min_value": 1, "max_value": 5})

    class Config:
        """Exactly these columns."""

        strict = True

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def one_prompt_for_each_prompt_id(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Rows of one `prompt_id` ask the same."""
        return one_value_each(data, "prompt_id", "task", "prompt")


def read_production_logs(path: Path) -> pl.DataFrame:
    """Read a JSON Lines file of logged answers, in the order of the file.

    Raises:
        InputError: The file cannot be read or is empty, lines are no logged answers, a request is there twice, or one
            `prompt_id` has several prompts.
    """
    table = as_table(stream_json_lines(path, LoggedAnswer, "production log"), ProductionLogs)
    return validate_table(table, ProductionLogs, f"production log {path}")
