"""Table schema of a scored audit sheet, beyond the checks of each row.

Import it inside the function that checks a table: pandera takes a second to load.
"""

from typing import get_args

import pandera.polars as pa
import polars as pl
from pandera.polars import PolarsData

from schemas.documents import RaterKind
from schemas.tables.rollout_tables import one_value_each
from schemas.tasks import TASK_NAMES


class AuditSheet(pa.DataFrameModel):  # type: ignore[misc]
    """Completions with their raters' scores."""

    audit_id: str = pa.Field(str_length={"min_value": 1})
    task: str = pa.Field(isin=TASK_NAMES)
    prompt_id: str = pa.Field()
    stratum: str = pa.Field()
    prompt: str = pa.Field()
    completion: str = pa.Field()
    human_score: int = pa.Field(in_range={"min_value": 1, "max_value": 5})
    rater: str = pa.Field(str_length={"min_value": 1})
    rater_kind: str = pa.Field(isin=get_args(RaterKind))
    notes: str = pa.Field()

    class Config:
        """Exactly these columns, and each completion scored once by each rater."""

        strict = True
        unique = ("audit_id", "rater")

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def each_rater_is_of_one_kind(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Refuse a rater who is a person in one row and a model in another: the gate counts only people."""
        return one_value_each(data, "rater", "rater_kind")
