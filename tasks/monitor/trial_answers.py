"""Answers of a trial: those of the challengers, and the champion's to the same requests or of the same days.

A challenger answers a share of the requests in the champion's place, or all of them unseen, as its shadow. The gateway
logs which (`role`).
"""

import re
from collections.abc import Sequence
from typing import Final

import polars as pl

CHALLENGER: Final = "challenger"
SHADOW: Final = "shadow"
_ANSWER: Final = "answer"


def is_on_trial(champion: Sequence[str]) -> pl.Expr:
    """Return whether a row is of a challenger: another version of the champion's model, in such a role.

    Answers that a request had drawn in its own way have another name, and are nobody's.

    Args:
        champion: Names of the champion in `model_version`, NAME/VERSION first.
    """
    model, _, _ = champion[0].rpartition("/")
    version = pl.col("model_version")
    is_version = version.str.contains(rf"^{re.escape(model)}/[0-9]+$") & ~version.is_in(list(champion))
    return (is_version & pl.col("role").is_in([CHALLENGER, SHADOW])).fill_null(value=False)


def trial_answers(answers: pl.DataFrame, champion: Sequence[str]) -> pl.DataFrame:
    """Return the rows of the trials, without the server's request ids.

    Args:
        answers: Answers since the champion's promotion: `request_id`, `role`, `shadow_of` and what is compared; an
            identity occurs once.
        champion: Names of the champion in `model_version`, NAME/VERSION first.

    Returns:
        The given columns by time, `challenger` (NAME/VERSION; null for the champion's answers), `answer` (a number) and
        `shadow_of` (the number of the champion's answer; null where it is not there).
    """
    tried = answers.filter(is_on_trial(champion)).with_columns(pl.col("model_version").alias("challenger"))
    is_champions = pl.col("model_version").is_in(list(champion)) & ~pl.col("role").eq_missing(SHADOW)
    beside = pl.col("request_id").is_in(tried["shadow_of"].drop_nulls().implode())
    champions = answers.filter(is_champions).with_columns(pl.lit(None, pl.String).alias("challenger"))
    same_days = champions.join(
        tried.filter(pl.col("role") == CHALLENGER), on=["task", "day"], how="semi", maintain_order="left"
    )
    shadowed = champions.filter(beside).join(same_days, on="request_id", how="anti", maintain_order="left")
    both = pl.concat([same_days, shadowed, tried]).sort("time", maintain_order=True).with_row_index(_ANSWER)
    numbers = both.filter(pl.col("challenger").is_null()).select("task", "request_id", pl.col(_ANSWER).alias("number"))
    found = both.select("task", "shadow_of").join(
        numbers, left_on=["task", "shadow_of"], right_on=["task", "request_id"], how="left", maintain_order="left"
    )
    return both.with_columns(found["number"].alias("shadow_of")).drop("request_id")
