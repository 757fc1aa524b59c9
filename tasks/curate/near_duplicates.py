"""Looks for near-duplicates (`tasks.curate.likeness`): MinHash brings likely pairs together, which are then compared.

Whatever two prompts must have in common is part of the key by which they meet, and a look at their last words spares
most of the comparing; so the work stays far below that of comparing all pairs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.curate.likeness import Prompts, Rows, alike
from tasks.curate.minhash import mixed
from tasks.curate.words import Hashes, Words

MOST_NEIGHBOURS: Final = 500
"""In a crowd of prompts that share a band, each is compared with so many others at most: the work stays linear."""


def near_duplicates(index: pl.DataFrame, words: Words, bands: Hashes) -> NDArray[np.int64]:
    """Find the pairs of near-duplicates.

    Args:
        index: Fingerprints, in the order of preference, no two of a task with the same words, with `family`, the prompt
            that each is a paraphrase of or is itself.
        words: The prompts' words.
        bands: The bands of the prompts' sketches.

    Returns:
        Two columns of row numbers, the first smaller than the second, sorted, each pair once. Paraphrases of one
        prompt are no duplicates of each other.
    """
    question = index.select(pl.struct("task", "numbers_hash").rank("dense")).to_series().to_numpy().astype(np.uint64)
    complete = index["complete"].to_numpy()
    whole = np.flatnonzero(complete)
    partial = np.flatnonzero(np.isin(question, question[~complete]))
    found = [
        _likely(whole, mixed(question[whole], index["reference_hash"].to_numpy()[whole]), words, bands),
        # What a reference does not know contradicts nothing, so that it cannot be part of the key.
        _likely(partial, question[partial], words, bands),
    ]
    pairs = np.unique(np.sort(np.concatenate(found), axis=1), axis=0)
    family = index["family"]
    pairs = pairs[(family[pairs[:, 0]] != family[pairs[:, 1]]).to_numpy()]
    prompts = Prompts(index, words)
    near: NDArray[np.int64] = pairs[alike(prompts, pairs[:, 0], prompts, pairs[:, 1])]
    return near


def _likely(rows: Rows, keys: Hashes, words: Words, bands: Hashes) -> NDArray[np.int64]:
    """Return the pairs among some rows that share a key and a band, and end as near-duplicates may end."""
    counts = words.counts[rows].astype(np.uint64)
    tails = _Tails.of(words, rows)
    found = _Pairs(len(rows))
    for band in bands[rows].T:
        met = mixed(keys, band)
        places = _Places.of(mixed(met, counts))
        for equals in places.equals():
            found.add(equals[tails.replaced(equals)])
        for longer in places.wanted(mixed(met, counts + np.uint64(1))):
            found.add(longer[tails.inserted(longer)])
    pairs: NDArray[np.int64] = rows[found.distinct()]
    return pairs


class _Pairs:
    """Pairs of places that were found, some of them in several bands."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._found = [np.empty(0, np.int64)]

    def add(self, pairs: NDArray[np.int64]) -> None:
        self._found.append(pairs[:, 0] * self._places + pairs[:, 1])

    def distinct(self) -> NDArray[np.int64]:
        found = np.unique(np.concatenate(self._found))
        return np.stack(np.divmod(found, max(self._places, 1)), axis=1)


@dataclass(frozen=True)
class _Places:
    """Which places have which key."""

    ranked: Hashes
    """The keys, sorted."""
    order: NDArray[np.int64]
    """Their places, those of one key ascending."""
    end: NDArray[np.int64]
    """For each of the sorted keys, where the run of its equals ends."""

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
        """Yield pairs of a place and one that has the key wanted for it."""
        # Keys are looked up in order, which the processor's caches reward tenfold.
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
class _Tails:
    """A byte of each of the last sixteen words of each prompt.

    Most pairs that meet begin alike, with the instruction, and differ at the end: a look at it spares most comparing.
    """

    last: Hashes
    """Of the last eight words, the very last in the lowest byte; 0 where there are fewer."""
    before: Hashes
    """Of the eight words before."""

    @classmethod
    def of(cls, words: Words, rows: Rows) -> "_Tails":
        ends, begins = words.offsets[1:][rows], words.offsets[:-1][rows]

        def packed(nearest: int) -> Hashes:
            bytes_of_words = np.zeros(len(rows), np.uint64)
            for place in range(8):
                at = ends - 1 - nearest - place
                byte = words.hashes[np.maximum(at, 0)] & np.uint64(0xFF)
                bytes_of_words |= np.where(at >= begins, byte, np.uint64(0)) << np.uint64(8 * place)
            return bytes_of_words

        return cls(packed(0), packed(8))

    def replaced(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say of which pairs the tails differ in one word at most."""
        one, other = pairs.T
        differing = np.bitwise_count(_differing(self.last[one], self.last[other]))
        differing += np.bitwise_count(_differing(self.before[one], self.before[other]))
        few: NDArray[np.bool_] = differing <= 1
        return few

    def inserted(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say of which pairs the second's tail may be the first's with one word more."""
        shorter, longer = pairs.T
        ahead = self.last[longer] >> np.uint64(8) | self.before[longer] << np.uint64(56)
        in_step = _differing(self.last[shorter], self.last[longer])
        # Behind the word that came in, both are in step; before it, the longer one is a word ahead.
        possible: NDArray[np.bool_] = (in_step & _differing(self.last[shorter], ahead)) == 0
        return possible


def _differing(first: Hashes, second: Hashes) -> Hashes:
    """Mark the bytes in which two values differ by the bytes' highest bits."""
    low = np.uint64(0x7F7F7F7F7F7F7F7F)
    changed = first ^ second
    marked: Hashes = (((changed & low) + low) | changed) & ~low
    return marked
