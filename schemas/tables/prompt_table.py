"""Table schema of prompts.

Import it inside the function that checks a table: pandera takes a second to load.
"""

import pandera.polars as pa
import polars as pl
from pandera.polars import PolarsData

from schemas.tables.prompts import ids_that_fit, references_that_fit
from schemas.tasks import TASK_NAMES


class Prompts(pa.DataFrameModel):  # type: ignore[misc]
    """`prompts.parquet`: made by synthesis, or brought by a shop."""

    prompt_id: str = pa.Field(str_matches=r"^[0-9a-f]{64}$")
    task: str = pa.Field(isin=TASK_NAMES)
    system: str = pa.Field(str_length={"min_value": 1})
    prompt: str = pa.Field(str_length={"min_value": 1})
    reference: str = pa.Field()
    source: str = pa.Field(str_matches=r"^[a-z0-9_-]{1,40}$")
    customer_id: str = pa.Field(nullable=True)
    order_id: str = pa.Field(nullable=True)
    review_id: str = pa.Field(nullable=True)
    parent_id: str = pa.Field(nullable=True, str_matches=r"^[0-9a-f]{64}$")

    class Config:
        """Exactly these columns."""

        strict = True

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def reference_fits_its_task(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Require each reference to be a JSON object of the shape that its task needs."""
        return references_that_fit(data.lazyframe.collect()).to_frame().lazy()

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def prompt_id_is_its_content(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Require each id to be the sha256 of the content, so that an edited prompt never keeps its old id."""
        return ids_that_fit(data.lazyframe.collect()).to_frame().lazy()

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def parent_is_another_prompt(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Refuse a prompt that is a paraphrase of itself."""
        is_another: pl.LazyFrame = data.lazyframe.select(pl.col("parent_id").ne_missing(pl.col("prompt_id")))
        return is_another


class Dataset(Prompts):
    """`train`, `validation` and `test.parquet` of a dataset: curated prompts, each once."""

    prompt_id: str = pa.Field(str_matches=r"^[0-9a-f]{64}$", unique=True)
