"""Exact search for leakage between splits, before the dataset is written and again in the written files.

The search for copies rests on MinHash, which finds nearly all of them; this search finds every prompt that differs in
one word from a held-out one, by hashing each prompt with each of its words left open.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.curate.kinship import SOURCES, asked_by_reference
from tasks.curate.likeness import PromptFingerprints, alike, words_of
from tasks.curate.words import Hashes, Words, mixed

_BASE: Final = np.uint64(0x9E3779B97F4A7C15)
"""Odd, so that it has an inverse modulo 2^64."""
_INVERSE: Final = np.uint64(pow(0x9E3779B97F4A7C15, -1, 2**64))
ROWS_AT_ONCE: Final = 50_000
"""Rows whose open-word hashes, some dozens each, are in memory at once."""
NO_PAIRS: Final = pl.DataFrame(schema={"row": pl.Int64, "row_other": pl.Int64})
SHARED: Final = ("prompt_id", *SOURCES, "parent_id", "question")


class LeakageError(RuntimeError):
    """Error for splits that share data: a bug of this program."""


@dataclass(frozen=True)
class Openings:
    """Hashes of prompts: of all their words, and of all but one."""

    whole: pl.DataFrame
    replaced: pl.DataFrame
    """`row` and `hash` of its words with one left open, for each word."""
    without: pl.DataFrame


def near(one: pl.DataFrame, one_words: Words, other: pl.DataFrame, other_words: Words) -> pl.DataFrame:
    """Find the prompts of one table that are near-duplicates of another's, or have the same words.

    Returns:
        The pairs as `row` of the one and `row_other` of the other table, sorted.
    """
    asked, held = _questions(one), _questions(other)
    opened = _open(held, other_words)
    rows = np.flatnonzero(np.isin(asked, held))
    parts = [
        _met(asked, one_words, rows[first : first + ROWS_AT_ONCE], opened)
        for first in range(0, len(rows), ROWS_AT_ONCE)
    ]
    pairs = pl.concat([NO_PAIRS, *parts]).sort("row", "row_other")
    holds = alike(
        PromptFingerprints(one, one_words),
        pairs["row"].to_numpy(),
        PromptFingerprints(other, other_words),
        pairs["row_other"].to_numpy(),
    )
    return pairs.filter(pl.Series(holds))


def _met(asked: Hashes, words: Words, rows: NDArray[np.int64], held: Openings) -> pl.DataFrame:
    own = _open(asked[rows], words.take(rows))
    sides = [(own.whole, held.whole), (own.replaced, held.replaced)]
    sides += [(own.whole, held.without), (own.without, held.whole)]
    pairs = pl.concat([left.join(right, on="hash", suffix="_other").drop("hash") for left, right in sides]).unique()
    return pairs.with_columns(row=pl.Series(rows[pairs["row"].to_numpy()]))


def find_leaks(index: pl.DataFrame, words: Words, splits: pl.Series) -> NDArray[np.int64]:
    """Return the rows to remove, because test, or validation for train, has them with at most one word changed."""
    rank = ranks(splits)
    held, inside = np.flatnonzero(rank > 0), np.flatnonzero(rank >= 0)
    pairs = near(index[inside], words.take(inside), index[held], words.take(held))
    rows, others = inside[pairs["row"].to_numpy()], held[pairs["row_other"].to_numpy()]
    leaks: NDArray[np.int64] = np.unique(rows[rank[rows] < rank[others]])
    return leaks


def ranks(splits: pl.Series) -> NDArray[np.int8]:
    """Return the protection rank of each split: 2 for test, 1 for validation, 0 for train, -1 for no split."""
    order = {"test": 2, "validation": 1, "train": 0}
    rank: NDArray[np.int8] = splits.replace_strict(order, default=-1, return_dtype=pl.Int8).to_numpy()
    return rank


def prove_apart(name: str, table: pl.DataFrame, held_name: str, held: pl.DataFrame) -> None:
    """Check that two written splits share nothing."""
    for column in SHARED:
        one, other = (set(_names(side, column)) for side in (table, held))
        if shared := one & other:
            raise LeakageError(f"{name} and {held_name} share {len(shared)} {column}")
    pairs = near(table, words_of(table), held, words_of(held))
    if pairs.height:
        prompt_id = table["prompt_id"][pairs["row"][0]]
        raise LeakageError(f"{name} and {held_name} share {pairs.height} prompts but for one word, such as {prompt_id}")


def _names(table: pl.DataFrame, column: str) -> pl.Series:
    if column == "parent_id":
        # A paraphrase and its parent are as close as two paraphrases.
        return pl.concat([table["prompt_id"], table["parent_id"].drop_nulls()])
    if column == "question":
        return table.select(asked_by_reference()).to_series().drop_nulls()
    return table[column].drop_nulls()


def _questions(index: pl.DataFrame) -> Hashes:
    tasks = index["task"].to_physical().to_numpy().astype(np.uint64)
    return mixed(index["numbers_hash"].to_numpy(), tasks)


def _open(questions: Hashes, words: Words) -> Openings:
    counts = words.counts
    row = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(words.hashes)) - np.repeat(words.offsets[:-1], counts)
    power = _powers(int(counts.max(initial=0)))[place]
    terms = words.hashes * power
    before = np.cumsum(terms) - terms
    before -= np.repeat(before[words.offsets[:-1]] if len(counts) else before, counts)
    total = np.add.reduceat(terms, words.offsets[:-1]) if len(counts) else terms
    open_one = np.repeat(total, counts) - terms
    left_out = before + (np.repeat(total, counts) - before - terms) * _INVERSE
    size = counts.astype(np.uint64)
    key, sizes = np.repeat(questions, counts), np.repeat(size, counts)
    return Openings(
        whole=_frame(np.arange(len(counts)), mixed(mixed(questions, total), size)),
        replaced=_frame(row, mixed(mixed(mixed(key, open_one), sizes), place.astype(np.uint64))),
        without=_frame(row, mixed(mixed(key, left_out), sizes - np.uint64(1))),
    )


def _powers(count: int) -> Hashes:
    powers = np.full(count, _BASE, np.uint64)
    powers[:1] = 1
    return np.cumprod(powers, dtype=np.uint64)


def _frame(rows: NDArray[np.int64], hashes: Hashes) -> pl.DataFrame:
    return pl.DataFrame({"row": rows, "hash": hashes})
