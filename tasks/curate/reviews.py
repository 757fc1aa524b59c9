"""Reviews that prompts quote: the same review under another instruction, or of another task, is found by its own words.

Two prompts quote the same review if its words are the same, or, as for prompts (`tasks.curate.likeness`), if one word
of a line with enough others was replaced, added or left out. Here numbers are words like others, and references decide
nothing: what a held-out customer wrote is not trained on, whatever somebody else meant by it.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schemas.tasks import TASK_NAMES
from tasks.curate.kinship import SOURCES
from tasks.curate.leakage import near
from tasks.curate.words import Words, with_words

REVIEW: Final = r"(?s)(?:^|\n)Avaliação:[ \t]*(\S.*)$"
"""Text after the label under which prompts quote a review, to the end of the prompt."""
REVIEW_COLUMNS: Final = {"review_words": pl.List(pl.UInt64), "review_lines": pl.List(pl.UInt32)}
"""Columns of the words of the quoted review, as 64-bit hashes, and of their number in each line; null without one."""


def review_words(table: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of `REVIEW_COLUMNS` for a prompt table, in its order."""
    quoted = table.select(prompt=pl.col("prompt").str.extract(REVIEW, 1)).with_row_index("row").drop_nulls()
    marked = with_words(quoted)
    words = Words.of(marked)
    rows = np.repeat(marked["row"].to_numpy(), words.counts)
    hashes = pl.DataFrame(
        {"row": rows, "review_words": words.hashes}, schema={"row": pl.UInt32, "review_words": pl.UInt64}
    )
    lists = hashes.group_by("row", maintain_order=True).agg("review_words")
    found = lists.join(marked.select("row", review_lines="lines"), on="row")
    every = pl.DataFrame({"row": pl.int_range(table.height, dtype=pl.UInt32, eager=True)})
    return every.join(found, on="row", how="left", maintain_order="left").select(
        pl.col(column).cast(kind) for column, kind in REVIEW_COLUMNS.items()
    )


@dataclass(frozen=True)
class QuotedReviews:
    """Reviews quoted by some prompts."""

    rows: NDArray[np.int64]
    index: pl.DataFrame
    """The columns of a fingerprint on which `near` depends; of task, numbers and reference all are the same."""
    words: Words

    @classmethod
    def of(cls, index: pl.DataFrame) -> "QuotedReviews":
        """Return the reviews of fingerprinted prompts."""
        quoted = (
            index.select(*SOURCES, *REVIEW_COLUMNS).with_row_index("row").filter(pl.col("review_words").is_not_null())
        )
        words = Words.from_lists(
            quoted["review_words"].explode(), quoted["review_words"].list.len(), quoted["review_lines"]
        )
        alike = quoted.select(
            *SOURCES,
            task=pl.lit(TASK_NAMES[0], pl.Enum(TASK_NAMES)),
            numbers_hash=pl.lit(0, pl.UInt64),
            reference=pl.lit("{}"),
        )
        return cls(quoted["row"].to_numpy().astype(np.int64), alike, words)

    def among(self, rows: NDArray[np.int64]) -> "QuotedReviews":
        """Return the reviews of some rows only."""
        places = np.flatnonzero(np.isin(self.rows, rows))
        return QuotedReviews(self.rows[places], self.index[places], self.words.take(places))


def same_reviews(one: QuotedReviews, other: QuotedReviews) -> NDArray[np.int64]:
    """Return the pairs of rows that quote the same review: two columns, of the one and of the other."""
    if not len(one.rows) or not len(other.rows):
        return np.empty((0, 2), np.int64)
    pairs = near(one.index, one.words, other.index, other.words)
    return np.stack([one.rows[pairs["row"].to_numpy()], other.rows[pairs["row_other"].to_numpy()]], axis=1)
