"""Table schemas of completions, of their scores by rewards and by people, and of a training's log of them.

Import it inside the function that checks a table: pandera takes a second to load.
"""

from pathlib import Path
from typing import get_args

import pandera.polars as pa
import polars as pl
from pandera.polars import PolarsData

from schemas.documents import RaterKind, Rollout
from schemas.json_lines import read_json_lines
from schemas.tables.table_check import as_table, validate_table
from schemas.tasks import TASK_NAMES


class Rollouts(pa.DataFrameModel):  # type: ignore[misc]
    """Completions; `reference` is JSON. A prompt may be answered more than once."""

    prompt_id: str = pa.Field(str_length={"min_value": 1})
    task: str = pa.Field(isin=TASK_NAMES)
    prompt: str = pa.Field()
    completion: str = pa.Field()
    reference: str = pa.Field(nullable=True)

    class Config:
        """Exactly these columns."""

        strict = True

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def one_prompt_for_each_prompt_id(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Require one prompt text per `prompt_id`."""
        return one_value_each(data, "prompt_id", "task", "prompt")


class PairedScores(pa.DataFrameModel):  # type: ignore[misc]
    """One model's scores: a file that `tucano compare` reads."""

    prompt_id: str = pa.Field(str_length={"min_value": 1})
    task: str = pa.Field(isin=TASK_NAMES)
    seed: int = pa.Field()
    sample: int = pa.Field(ge=0)
    score: float = pa.Field(in_range={"min_value": 0, "max_value": 1})
    truth: float = pa.Field(in_range={"min_value": 0, "max_value": 1}, nullable=True)
    decoding: str = pa.Field(nullable=True)

    class Config:
        """Exactly these columns, and each answer once."""

        strict = True
        unique = ("task", "prompt_id", "seed", "sample")


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


class TrainingRollouts(pa.DataFrameModel):  # type: ignore[misc]
    """`rollouts/*.parquet` of a policy: a row for each completion of each step, those of a group adjacent."""

    prompt_id: str = pa.Field(str_matches=r"^[0-9a-f]{64}$")
    task: str = pa.Field(isin=TASK_NAMES)
    step: int = pa.Field(ge=1)
    """The optimizer step that they were sampled for; where a step repeats, the first of them."""
    seed: int = pa.Field(ge=0)
    completion: str = pa.Field()
    components: str = pa.Field(str_matches=r"^\{.*\}$")
    """Each part of the reward, in [0, 1], by name, as JSON."""
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


def read_rollouts(path: Path) -> tuple[Rollout, ...]:
    """Read a JSON Lines file of rollouts.

    Raises:
        InputError: The file cannot be read or is empty, lines are not rollouts, or one `prompt_id` has several prompts.
    """
    rollouts = read_json_lines(path, Rollout, "rollouts")
    validate_table(as_table(rollouts, Rollouts), Rollouts, f"rollouts {path}")
    return rollouts


def one_value_each(data: PolarsData, key: str, *columns: str) -> pl.LazyFrame:
    """Return for each row whether its columns equal those of the first row with the same key."""
    same = [pl.col(column).eq_missing(pl.col(column).first().over(key)) for column in columns]
    verdict: pl.LazyFrame = data.lazyframe.select(pl.all_horizontal(same))
    return verdict
