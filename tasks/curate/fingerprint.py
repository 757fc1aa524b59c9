"""Prompt fingerprints for finding copies and groups in the whole table: text hashes, and the reference."""

from typing import Final

import numpy as np
import polars as pl

from schemas.tasks import TASK_NAMES
from tasks.curate.likeness import count_known
from tasks.curate.words import Words, hashed, spoken, with_words

NAMES: Final = ("prompt_id", "parent_id", "customer_id", "order_id", "review_id")
FINGERPRINT: Final = ("task", *NAMES, "reference", "words_hash", "numbers_hash", "reference_hash", "known", "complete")
"""The columns of a fingerprint, without the words and lines."""


def fingerprint(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row per prompt that fits its schema, in the table's order.

    Returns:
        `task`, the columns of `NAMES`, `reference`, and: `words_hash`, `numbers_hash` and `reference_hash`, 64-bit
        hashes of the words, of the numbers among them and of the reference; `known` and `complete`, the number of
        values that the reference knows and whether that is all; `words`, lists of 64-bit hashes, and `lines`, the
        number of them in each line.
    """
    marked = with_words(table)
    words = Words.of(marked)
    is_number = pl.element().str.contains(r"\d")
    known = [count_known(*row) for row in table.select("task", "reference").iter_rows()]
    numbers = pl.col("words").list.eval(pl.element().filter(is_number)).list.join(" ")
    hashes = marked.select(
        words_hash=spoken(), numbers_hash=hashed(numbers), reference_hash=hashed(pl.col("reference"))
    )
    return pl.DataFrame(
        [
            table["task"].cast(pl.Enum(TASK_NAMES)),
            *(table[name] for name in (*NAMES, "reference")),
            *hashes,
            pl.Series("known", [count for count, _ in known], pl.UInt32),
            pl.Series("complete", [complete for _, complete in known], pl.Boolean),
            _lists("words", words),
            marked["lines"],
        ]
    )


def words_of(index: pl.DataFrame) -> Words:
    """Return the words of fingerprinted prompts."""
    return Words.from_lists(index["words"].explode(), index["words"].list.len(), index["lines"])


def _lists(name: str, words: Words) -> pl.Series:
    rows = np.repeat(np.arange(len(words.counts)), words.counts)
    grouped = pl.DataFrame({"row": rows, name: words.hashes}).group_by("row", maintain_order=True).agg(name)
    return grouped[name]
