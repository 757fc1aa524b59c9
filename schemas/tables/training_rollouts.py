"""Table schema of the rollout log of a training.

Import it inside the function that checks a table: pandera takes a second to load.
"""

import pandera.polars as pa
import polars as pl
from pandera.polars import PolarsData

from schemas.tables.rollout_tables import one_value_each
from schemas.tasks import TASK_NAMES


class TrainingRollouts(pa.DataFrameModel):  # type: ignore[misc]
    """`rollouts/*.parquet` of a policy: a row for each completion of each step, those of a group adjacent."""

    prompt_id: str = pa.Field(str_matches=r"^[0-9a-f]{64}$")
    task: str = pa.Field(isin=TASK_NAMES)
    step: int = pa.Field(ge=1)
    """The optimizer step that they were sampled for; where a step repeats, the first of them."""
    seed: int = pa.Field(ge=0)
    completion: str = pa.Field()
    components: str = pa.Field(str_matches=r"^\{.*\}$")
    """Each part of the reward, in [0, 1], by name, as JSON. Where `content_threshold` is above 0, the loss saw form as
    0 in completions below it."""
    reward: float = pa.Field(in_range={"min_value": 0, "max_value": 1})
    advantage: float = pa.Field(nullable=True)
    """Weight of its tokens in the loss: the mean where they differ; null where it was not trained on, because its group
    had no learning signal or the reference's answer took its place."""
    tokens: int = pa.Field(ge=0)
    stop_reason: str = pa.Field(isin=("end_of_turn", "token_limit"))
    corrected: bool = pa.Field()
    """Whether it is the reference's answer, put in place of the policy's own."""

    class Config:
        """Exactly these columns."""

        strict = True

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def one_task_for_each_prompt_id(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Require one task per `prompt_id`."""
        return one_value_each(data, "prompt_id", "task")
