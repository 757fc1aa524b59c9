"""Near-duplicates (`tasks.curate.likeness`): MinHash proposes pairs, which are then compared, and one copy is kept.

Required common properties are part of the lookup key, and a look at the last words avoids most comparisons; so the work
stays far below that of comparing all pairs. Of each set the copy whose reference knows most is kept; of equally known
copies one that is held out from training anyway, else the first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.curate.likeness import SAID, PromptFingerprints, Rows, alike
from tasks.curate.words import Hashes, Words, mixed

KEPT: Final = -1


def find_copies(index: pl.DataFrame, words: Words, bands: Hashes) -> NDArray[np.int64]:
    """Return, for each prompt, the row of its kept original, or `KEPT`."""
    preferred = index.select(pl.arg_sort_by("known", "held_out", descending=True, maintain_order=True))
    order = preferred.to_series().to_numpy().astype(np.int64)
    ranked = index.select("task", "words_hash")[order].with_row_index("rank")
    first = ranked.select(pl.col("rank").first().over("task", "words_hash")).to_series().to_numpy().astype(np.int64)
    is_copy = first != np.arange(index.height)
    unique = order[~is_copy]
    asked = index.select("task", "numbers_hash", "reference_hash", "complete", "family", *SAID)[unique]
    nearly = _nearly_copied(near_duplicates(asked, words.take(unique), bands[unique]), len(unique))
    copies = np.full(index.height, KEPT)
    copies[unique] = np.where(nearly == KEPT, KEPT, unique[nearly])
    originals = order[first[is_copy]]
    # The original of a copy may itself be a near-duplicate.
    copies[order[is_copy]] = np.where(copies[originals] == KEPT, originals, copies[originals])
    return copies


def _nearly_copied(pairs: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Drop, in order of preference, every near-duplicate of a kept row."""
    copies = np.full(count, KEPT)
    for preferred, other in pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))].tolist():
        if copies[preferred] == KEPT and copies[other] == KEPT:
            copies[other] = preferred
    return copies


MOST_NEIGHBOURS: Final = 200
"""Most neighbours compared for a prompt in a crowded band: the work stays linear."""
PAIRS_AT_ONCE: Final = 500_000
"""Candidate pairs buffered for comparison word by word."""


def near_duplicates(index: pl.DataFrame, words: Words, bands: Hashes) -> NDArray[np.int64]:
    """Find the pairs of near-duplicates."""
    question = index.select(pl.struct("task", "numbers_hash").rank("dense")).to_series().to_numpy().astype(np.uint64)
    complete = index["complete"].to_numpy()
    whole = np.flatnonzero(complete)
    partial = np.flatnonzero(np.isin(question, question[~complete]))
    found = _Pairs(PromptFingerprints(index, words), index["family"])
    _meet(whole, mixed(question[whole], index["reference_hash"].to_numpy()[whole]), words, bands, found)
    # Unknown values of a reference contradict nothing, so the reference cannot be part of the key.
    _meet(partial, question[partial], words, bands, found)
    return found.distinct()


def _meet(rows: Rows, keys: Hashes, words: Words, bands: Hashes, found: "_Pairs") -> None:
    """Find candidate pairs that share a key and a band, with ends as near-duplicates may have."""
    counts = words.counts[rows].astype(np.uint64)
    ends = _Ends.of(words, rows)
    for band in bands[rows].T:
        met = mixed(keys, band)
        places = _Places.of(mixed(met, counts))
        for equals in places.equals():
            found.add(rows[equals[ends.replaced(equals)]])
        for longer in places.wanted(mixed(met, counts + np.uint64(1))):
            found.add(rows[longer[ends.inserted(longer)]])


class _Pairs:
    """Buffer of candidate pairs, compared before it grows too large."""

    def __init__(self, prompts: PromptFingerprints, family: pl.Series) -> None:
        self._prompts = prompts
        self._family = family
        self._waiting: list[NDArray[np.int64]] = []
        self._size = 0
        self._found = np.empty((0, 2), np.int64)

    def add(self, pairs: NDArray[np.int64]) -> None:
        self._waiting.append(pairs)
        self._size += len(pairs)
        if self._size > PAIRS_AT_ONCE:
            self._compare()

    def distinct(self) -> NDArray[np.int64]:
        self._compare()
        return self._found

    def _compare(self) -> None:
        pairs = np.sort(np.concatenate([np.empty((0, 2), np.int64), *self._waiting]), axis=1)
        pairs = np.unique(pairs, axis=0)
        pairs = pairs[(self._family[pairs[:, 0]] != self._family[pairs[:, 1]]).to_numpy()]
        near = pairs[alike(self._prompts, pairs[:, 0], self._prompts, pairs[:, 1])]
        self._found = np.unique(np.concatenate([self._found, near]), axis=0)
        self._waiting, self._size = [], 0


@dataclass(frozen=True)
class _Places:
    """Index from keys to places."""

    ranked: Hashes
    order: NDArray[np.int64]
    end: NDArray[np.int64]
    """For each of the sorted keys, the end of its run of equals."""

    @classmethod
    def of(cls, keys: Hashes) -> "_Places":
        order = np.argsort(keys, kind="stable")
        ranked = keys[order]
        ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]) + 1, len(ranked))
        return cls(ranked, order, np.repeat(ends, np.diff(ends, prepend=0)))

    def equals(self) -> Iterator[NDArray[np.int64]]:
        """Yield pairs of places with the same key, each pair once."""
        return self._pairs(self.order, np.arange(1, len(self.order) + 1), self.end)

    def wanted(self, keys: Hashes) -> Iterator[NDArray[np.int64]]:
        """Yield pairs of a place and one with the key wanted for it."""
        # Keys are looked up in order, which is ten times as fast thanks to the processor's caches.
        seekers = np.argsort(keys, kind="stable")
        begin = np.searchsorted(self.ranked, keys[seekers])
        within = np.minimum(begin, len(self.ranked) - 1)
        there = self.ranked[within] == keys[seekers]
        return self._pairs(seekers[there], begin[there], self.end[begin[there]])

    def _pairs(
        self, seekers: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]
    ) -> Iterator[NDArray[np.int64]]:
        end = np.minimum(end, begin + MOST_NEIGHBOURS)
        while len(seekers):
            open_still = begin < end
            seekers, begin, end = seekers[open_still], begin[open_still], end[open_still]
            yield np.stack([seekers, self.order[begin]], axis=1)
            begin = begin + 1


@dataclass(frozen=True)
class _Ends:
    """One byte for each of the first eight and the last sixteen words of each prompt.

    Most candidate pairs share an instruction and differ at the other end: checking both avoids most comparisons.
    """

    first: Hashes
    """Of the first eight words, the very first in the lowest byte; 0 where there are fewer."""
    last: Hashes
    """Of the last eight words, the very last in the lowest byte."""
    before: Hashes
    """Of the eight words before the last eight."""

    @classmethod
    def of(cls, words: Words, rows: Rows) -> "_Ends":
        begins, ends = words.offsets[:-1][rows], words.offsets[1:][rows]

        def packed(nearest: Rows, step: int) -> Hashes:
            bytes_of_words = np.zeros(len(rows), np.uint64)
            for place in range(8):
                at = nearest + step * place
                byte = words.hashes[np.clip(at, 0, len(words.hashes) - 1)] & np.uint64(0xFF)
                there = (at >= begins) & (at < ends)
                bytes_of_words |= np.where(there, byte, np.uint64(0)) << np.uint64(8 * place)
            return bytes_of_words

        return cls(packed(begins, 1), packed(ends - 1, -1), packed(ends - 9, -1))

    def replaced(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark the pairs in which neither end differs in more than one word."""
        one, other = pairs.T
        at_the_end = np.bitwise_count(_differing(self.last[one], self.last[other]))
        at_the_end += np.bitwise_count(_differing(self.before[one], self.before[other]))
        at_the_start = np.bitwise_count(_differing(self.first[one], self.first[other]))
        few: NDArray[np.bool_] = (at_the_end <= 1) & (at_the_start <= 1)
        return few

    def inserted(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark the pairs in which the second's end may be the first's with one word more."""
        shorter, longer = pairs.T
        ahead = self.last[longer] >> np.uint64(8) | self.before[longer] << np.uint64(56)
        in_step = _differing(self.last[shorter], self.last[longer])
        # After the inserted word both are aligned; before it, the longer one is a word ahead.
        possible: NDArray[np.bool_] = (in_step & _differing(self.last[shorter], ahead)) == 0
        return possible


def _differing(first: Hashes, second: Hashes) -> Hashes:
    """Mark the bytes in which two values differ by the bytes' highest bits."""
    low = np.uint64(0x7F7F7F7F7F7F7F7F)
    changed = first ^ second
    marked: Hashes = (((changed & low) + low) | changed) & ~low
    return marked
