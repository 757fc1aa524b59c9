"""Near-duplicate rule: the one definition, for every search that proposes pairs, and the fingerprints that it reads.

Two prompts of a task with the same numbers in the same order are near-duplicates if, apart from case, accents and
punctuation, at most one word was replaced, added or left out, and no value that both references know differs: a
question about another month or another state is another question.

Texts of different people must be more similar: "Top" and "Recomendo" are one word apart, and two reviews. There, the
line with the word must have enough other words.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schemas.references import ExtractionFields
from schemas.tasks import TASK_NAMES
from tasks.curate.kinship import SOURCES
from tasks.curate.words import Words, hashed, spoken, with_words

FEWEST_WORDS_IN_LINE: Final = 6
"""For different sources: the words that a line must have for one of them to make no difference."""
NAMES: Final = ("prompt_id", "parent_id", "customer_id", "order_id", "review_id")
FINGERPRINT: Final = ("task", *NAMES, "reference", "words_hash", "numbers_hash", "reference_hash", "known", "complete")
"""The columns of a fingerprint, without the words and lines."""
SAID: Final = (*SOURCES, "reference")
"""The columns of a fingerprint that the definition reads."""

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class PromptFingerprints:
    """Prompts: their fingerprints, of which `SAID` is read, and their words."""

    index: pl.DataFrame
    words: Words


def alike(one: PromptFingerprints, rows: Rows, other: PromptFingerprints, other_rows: Rows) -> Mask:
    """Return which pairs, of one task and with the same numbers, are near-duplicates or have the same words."""
    counts, other_counts = one.words.counts[rows], other.words.counts[other_rows]
    room = np.zeros(len(rows), np.int64)
    for width, other_width in np.unique(np.stack([counts, other_counts], axis=1), axis=0):
        chosen = np.flatnonzero((counts == width) & (other_counts == other_width))
        first, second = (one.words, rows[chosen]), (other.words, other_rows[chosen])
        if width <= other_width:
            room[chosen] = _room(*first, *second)
        else:
            room[chosen] = _room(*second, *first)
    found = np.flatnonzero(room)
    first_said, second_said = one.index.select(SAID)[rows[found]], other.index.select(SAID)[other_rows[found]]
    near = (room[found] >= FEWEST_WORDS_IN_LINE) | ~_of_different_sources(first_said, second_said)
    known = zip(first_said["reference"], second_said["reference"], strict=True)
    near &= ~np.fromiter((contradict(*both) for both in known), np.bool_, len(found))
    holds = np.zeros(len(rows), np.bool_)
    holds[found[near]] = True
    return holds


def _of_different_sources(first: pl.DataFrame, second: pl.DataFrame) -> Mask:
    differ = [(first[source] != second[source]).fill_null(value=False).to_numpy() for source in SOURCES]
    different: Mask = np.logical_or.reduce(differ)
    return different


def _room(words: Words, rows: Rows, longer: Words, longer_rows: Rows) -> NDArray[np.int64]:
    """Return the number of words in the line where each pair differs; 0 if they differ in more than a word.

    All of `rows` have the same number of words, all of `longer_rows` as many or one more; pairs with the same words get
    the maximum.
    """
    block, _ = words.block(rows)
    longer_block, sizes = longer.block(longer_rows)
    if block.shape[1] == longer_block.shape[1]:
        differing = block != longer_block
        return np.where(differing.sum(axis=1) <= 1, _size_where(differing, sizes), 0)
    if block.shape[1] + 1 != longer_block.shape[1]:
        return np.zeros(len(rows), np.int64)
    before, after = block == longer_block[:, :-1], block == longer_block[:, 1:]
    alike_before = np.logical_and.accumulate(before, axis=1).sum(axis=1)
    alike_after = np.logical_and.accumulate(after[:, ::-1], axis=1).sum(axis=1)
    inserted = np.arange(longer_block.shape[1]) == alike_before[:, None]
    return np.where(alike_before + alike_after >= block.shape[1], _size_where(inserted, sizes), 0)


def _size_where(differing: Mask, sizes: NDArray[np.uint32]) -> NDArray[np.int64]:
    room: NDArray[np.int64] = np.where(differing, sizes.astype(np.int64), np.iinfo(np.int64).max).min(axis=1)
    return room


_VALUES_OF_AN_EXTRACTION: Final = 1 + len(ExtractionFields.model_fields)


def count_known(task: str, reference: str) -> tuple[int, bool]:
    """Return the number of values that a reference knows, and whether it is complete."""
    leaves = [value for _, value in _leaves(json.loads(reference), ())]
    known = sum(value is not None for value in leaves)
    return known, known == len(leaves) and (task != "extraction" or known >= _VALUES_OF_AN_EXTRACTION)


def contradict(first: str, second: str) -> bool:
    """Return whether two references of a task know different values of the same thing."""
    if first == second:
        return False
    one, other = (dict(_leaves(json.loads(reference), ())) for reference in (first, second))
    # A part that is null as a whole is unknown, whatever the other has in its place.
    known = [{place: value for place, value in leaves.items() if value is not None} for leaves in (one, other)]
    return any(known[0][place] != known[1][place] for place in known[0].keys() & known[1].keys())


def _leaves(value: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*place, key))
    else:
        yield place, value


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
