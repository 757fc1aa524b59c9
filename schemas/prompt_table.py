"""What the rows of a prompt table must look like.

Import it inside the function that checks a table: pandera takes a second to load.
"""

import json
from collections.abc import Callable
from typing import Any

import pandera.polars as pa
import polars as pl
from pandera.polars import PolarsData
from pydantic import ValidationError

from schemas.prompts import canonical_json, content_id
from schemas.references import check_reference
from schemas.tasks import TASK_NAMES


class Prompts(pa.DataFrameModel):  # type: ignore[misc]
    """`prompts.parquet`, and `train`, `validation` and `test.parquet` of a dataset."""

    prompt_id: str = pa.Field(str_matches=r"^[0-9a-f]{64}$")
    task: str = pa.Field(isin=TASK_NAMES)
    system: str = pa.Field(str_length={"min_value": 1})
    prompt: str = pa.Field(str_length={"min_value": 1})
    reference: str = pa.Field()
    source: str = pa.Field(isin=["simulated", "olist"])
    customer_id: str = pa.Field(nullable=True)
    order_id: str = pa.Field(nullable=True)
    review_id: str = pa.Field(nullable=True)
    parent_id: str = pa.Field(nullable=True, str_matches=r"^[0-9a-f]{64}$")

    class Config:
        """Exactly these columns."""

        strict = True

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def reference_fits_its_task(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """The reference is a JSON object of the shape that its task needs."""
        return _by_row(data, _reference_fits)

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def prompt_id_is_its_content(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """The id is the sha256 of the content, so that an edited prompt never keeps its old id."""
        return _by_row(data, _id_fits)


def _by_row(data: PolarsData, holds: Callable[[dict[str, Any]], bool]) -> pl.LazyFrame:
    row = pl.struct("prompt_id", "task", "system", "prompt", "reference")
    checked: pl.LazyFrame = data.lazyframe.select(row.map_elements(holds, return_dtype=pl.Boolean, skip_nulls=False))
    return checked


def _reference_fits(row: dict[str, Any]) -> bool:
    reference = _reference(row)
    if reference is None:
        return False
    if row["task"] not in TASK_NAMES:
        return True  # the task's own check says what is wrong
    try:
        check_reference(row["task"], reference)
    except ValidationError:
        return False
    return True


def _id_fits(row: dict[str, Any]) -> bool:
    reference = _reference(row)
    content = (row["task"], row["system"], row["prompt"])
    return reference is not None and row["prompt_id"] == content_id(*content, reference)


def _reference(row: dict[str, Any]) -> dict[str, Any] | None:
    try:
        reference = json.loads(row["reference"] or "")
        # What cannot be written again (a number past the largest float, half a surrogate pair) has no identity.
        canonical_json(reference).encode()
    except (ValueError, RecursionError):
        return None
    return reference if isinstance(reference, dict) else None
