"""Feedback: what became known of answers after they were logged, joined to them by their request ids.

The newest line counts, of references and of ratings each: who corrects a reference, or a rating, says so later. So it
takes the place of the log's too, except where answers are compared: nobody chose a reference of the log by the answer,
and people choose what to correct.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

from schemas.documents import Feedback
from schemas.errors import InputError
from schemas.json_lines import stream_json_lines
from schemas.tables.log_file import LogFile

_KNOWN: Final[Mapping[str, Any]] = {"reference": pl.String, "rating": pl.Int64}
_COLUMNS: Final[Mapping[str, Any]] = {
    "request_id": pl.String,
    "task": pl.String,
    "time": pl.Datetime("us", "UTC"),
    **_KNOWN,
}


@dataclass(frozen=True)
class FeedbackCounts:
    """Numbers of what was read."""

    lines: int = 0
    references: int = 0
    ratings: int = 0
    unknown: int = 0
    """Requests that the logs do not have."""


def read_feedback(files: Sequence[LogFile], latest: datetime | None = None) -> pl.DataFrame:
    """Read files of feedback, in their order, with times in UTC and references as JSON.

    Raises:
        InputError: A file cannot be read, a line is no feedback, or its time is later.
    """
    rows = []
    for file in files:
        said = tuple(stream_json_lines(file.path, Feedback, "feedback", file.size))
        for number, each in enumerate(said, start=1):
            if latest is not None and each.time > latest:
                raise InputError(
                    f"feedback {file.path}: line {number} is of {each.time.astimezone(UTC):%Y-%m-%d %H:%M} UTC, which "
                    "is yet to come; correct the clock of the machine that wrote it, or this one's, and the line"
                )
            # Written as the logs' references are, so that equal ones are scored once.
            reference = None if each.reference is None else json.dumps(each.reference, sort_keys=True)
            rows.append((each.request_id, each.task, each.time.astimezone(UTC), reference, each.rating))
    return pl.DataFrame(rows, schema=dict(_COLUMNS), orient="row")


def with_feedback(
    answers: pl.DataFrame, feedback: pl.DataFrame, *, keep_references: bool = False
) -> tuple[pl.DataFrame, FeedbackCounts]:
    """Return answers with the references and ratings of feedback in the place of their own."""
    if not feedback.height:
        return answers, FeedbackCounts()
    on = ["request_id", "task"]
    ordered = feedback.sort("time", maintain_order=True)
    newest = ordered.group_by(on, maintain_order=True).agg(pl.col(*_KNOWN).drop_nulls().last())
    said = answers.select(on).join(newest, on=on, how="left", maintain_order="left")
    if keep_references:
        said = said.with_columns(pl.when(answers["reference"].is_null()).then("reference").alias("reference"))
    joined = answers.with_columns(
        pl.when(said[name].is_not_null()).then(said[name]).otherwise(pl.col(name)).alias(name) for name in _KNOWN
    )
    counts = FeedbackCounts(
        lines=feedback.height,
        references=said["reference"].count(),
        ratings=said["rating"].count(),
        unknown=newest.join(answers.select(on), on=on, how="anti").height,
    )
    return joined, counts
