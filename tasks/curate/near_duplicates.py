"""Prompts that say the same but for a word.

Two prompts of a task are near-duplicates where, apart from case, accents and punctuation, one word was replaced, added
or left out (in a long prompt, up to one word in twenty replaced), the numbers in them are the same in the same order,
and no value that both references know differs: a question about another month or another state is another question.

MinHash brings likely pairs together; each is then compared word by word, so that none is dropped on an estimate.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.curate.minhash import mixed
from tasks.curate.reference_values import contradict
from tasks.curate.words import Hashes, Words

WORDS_PER_REPLACED: Final = 20
MOST_NEIGHBOURS: Final = 500
"""In a crowd of prompts that share a band, each is compared with so many others at most: the work stays linear."""

Rows = NDArray[np.int64]


def near_duplicates(index: pl.DataFrame, words: Words, bands: Hashes) -> NDArray[np.int64]:
    """Find the pairs of near-duplicates.

    Args:
        index: One row a prompt, in the order of preference, no two of a task with the same words: `task`, `numbers`
            and `answer` (64-bit hashes of the numbers and of the reference), `complete` (whether the reference knows
            everything), `family` (of paraphrases) and `reference`.
        words: The prompts' words.
        bands: The bands of the prompts' sketches.

    Returns:
        Two columns of row numbers, the first smaller than the second, sorted, each pair once. Paraphrases of one
        prompt are no duplicates of each other.
    """
    question = index.select(pl.struct("task", "numbers").rank("dense")).to_series().to_numpy().astype(np.uint64)
    answer = index["answer"].to_numpy()
    complete = index["complete"].to_numpy()
    whole = np.flatnonzero(complete)
    partial = np.flatnonzero(np.isin(question, question[~complete]))
    found = [
        _alike(whole, mixed(question[whole], answer[whole]), words, bands),
        # What a reference does not know contradicts nothing, so that it cannot be part of the key.
        _alike(partial, question[partial], words, bands),
    ]
    pairs = np.unique(np.concatenate(found), axis=0)
    return pairs[_admissible(index, pairs)]


def _admissible(index: pl.DataFrame, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    first, second = (index[pairs[:, side]] for side in (0, 1))
    related = (first["family"] == second["family"]).to_numpy()
    known = zip(first["reference"], second["reference"], strict=True)
    return ~related & ~np.fromiter((contradict(*both) for both in known), np.bool_, len(pairs))


def _alike(rows: Rows, keys: Hashes, words: Words, bands: Hashes) -> NDArray[np.int64]:
    """Return the pairs among some rows that share a key and a band, and differ in as little as a word."""
    counts = words.counts[rows].astype(np.uint64)
    tails = _Tails.of(words, rows)
    replaced, inserted = _Pairs(len(rows)), _Pairs(len(rows))
    for band in bands[rows].T:
        met = mixed(keys, band)
        places = _Places.of(mixed(met, counts))
        for pairs in places.equals():
            replaced.add(pairs[tails.replaced(pairs)])
        for pairs in places.wanted(mixed(met, counts + np.uint64(1))):
            inserted.add(pairs[tails.inserted(pairs)])
    found = [(replaced, _replaced), (inserted, _inserted)]
    return np.concatenate([_compared(pairs.distinct(), rows, words, compare) for pairs, compare in found])


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


def _compared(
    pairs: NDArray[np.int64], rows: Rows, words: Words, compare: Callable[[Hashes, Hashes], NDArray[np.bool_]]
) -> NDArray[np.int64]:
    """Keep the pairs of places whose words differ as little as allowed; returns row numbers, the smaller first."""
    first, second = rows[pairs[:, 0]], rows[pairs[:, 1]]
    widths = words.counts[first]
    holds = np.zeros(len(pairs), np.bool_)
    for width in np.unique(widths):
        chosen = np.flatnonzero(widths == width)
        other = words.counts[second[chosen[:1]]][0]
        holds[chosen] = compare(words.block(first[chosen], width), words.block(second[chosen], other))
    return np.sort(np.stack([first, second], axis=1)[holds], axis=1)


def _allowed(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    allowed: NDArray[np.int64] = np.maximum(1, counts // WORDS_PER_REPLACED)
    return allowed


def _replaced(first: Hashes, second: Hashes) -> NDArray[np.bool_]:
    few: NDArray[np.bool_] = (first != second).sum(axis=1) <= _allowed(np.array(first.shape[1]))
    return few


def _inserted(shorter: Hashes, longer: Hashes) -> NDArray[np.bool_]:
    alike_before = np.logical_and.accumulate(shorter == longer[:, :-1], axis=1).sum(axis=1)
    alike_after = np.logical_and.accumulate((shorter == longer[:, 1:])[:, ::-1], axis=1).sum(axis=1)
    one: NDArray[np.bool_] = alike_before + alike_after >= shorter.shape[1]
    return one


@dataclass(frozen=True)
class _Tails:
    """A byte of each of the last sixteen words of each prompt.

    Most pairs that meet begin alike, with the instruction, and differ at the end: a look at it spares most comparing.
    """

    last: Hashes
    """Of the last eight words, the very last in the lowest byte; 0 where there are fewer."""
    before: Hashes
    """Of the eight words before."""
    allowed: NDArray[np.int64]
    """How many words may be replaced."""

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

        return cls(packed(0), packed(8), _allowed(words.counts[rows]))

    def replaced(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say of which pairs the tails differ in no more words than may be replaced."""
        one, other = pairs.T
        differing = np.bitwise_count(_differing(self.last[one], self.last[other]))
        differing += np.bitwise_count(_differing(self.before[one], self.before[other]))
        few: NDArray[np.bool_] = differing <= self.allowed[one]
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
