"""Normalized words of a prompt, without case, accents and punctuation, in order, and their MinHash sketches.

Two prompts of a task with the same words are the same question. Numbers are facts and keep their punctuation: `4,5` is
not `45`. Symbols are words: `<` is not `>`, and emoji differ from each other. Sketches are cut into bands: similar
prompts share a band with high probability (Broder 1997; Leskovec, Rajaraman and Ullman, Massive Datasets, 3.4).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

WORD: Final = r"\d+(?:[.,:/\-]\d+)*%?|\w+|\p{S}"
HASH_SEED: Final = 0

Hashes = NDArray[np.uint64]


def with_words(table: pl.DataFrame) -> pl.DataFrame:
    """Add `words`, the list of a prompt's words, and `lines`, the number of them in each line.

    A prompt without any word is its own single word.
    """
    plain = pl.col("prompt").str.normalize("NFKD").str.replace_all(r"\p{M}", "").str.to_lowercase()
    plain = plain.str.replace_all(r"(\d)[ \t]+%", "$1%")
    words = plain.str.extract_all(WORD)
    lines = plain.str.split("\n").list.eval(pl.element().str.count_matches(WORD))
    has_words = words.list.len() > 0
    return table.with_columns(
        words=pl.when(has_words).then(words).otherwise(pl.concat_list("prompt")),
        lines=pl.when(has_words).then(lines).otherwise(pl.lit([1], dtype=pl.List(pl.UInt32))),
    )


def hashed(text: pl.Expr) -> pl.Expr:
    """Return the 64-bit hash of a text, the same on every machine."""
    import polars_hash  # noqa: F401 - gives expressions their `nchash`

    hashes: pl.Expr = text.nchash.xxh3_64(seed=HASH_SEED)  # type: ignore[attr-defined]
    return hashes


def spoken() -> pl.Expr:
    """Return the hash of all of a prompt's `words`; equal for prompts with the same words."""
    return hashed(pl.col("words").list.join(" "))


@dataclass(frozen=True)
class Words:
    """Hashed words of many prompts, concatenated."""

    hashes: Hashes
    offsets: NDArray[np.int64]
    """Start of each prompt's words, and the end of the last one's: one more than there are prompts."""
    line_sizes: NDArray[np.uint32]

    @classmethod
    def of(cls, marked: pl.DataFrame) -> "Words":
        """Hash the words that `with_words` adds."""
        hashes = marked.select(pl.col("words").explode()).select(hashed(pl.col("words"))).to_series()
        return cls.from_lists(hashes, marked["words"].list.len(), marked["lines"])

    @classmethod
    def from_lists(cls, hashes: pl.Series, counts: pl.Series, lines: pl.Series) -> "Words":
        """Combine the hashes of all words, each prompt's number of them, and the lists of their numbers by line."""
        sizes = lines.explode().drop_nulls().to_numpy()
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts.to_numpy().astype(np.int64))])
        return cls(hashes.to_numpy(), offsets, np.repeat(sizes, sizes).astype(np.uint32))

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return the number of words of each prompt."""
        return np.diff(self.offsets)

    def take(self, rows: NDArray[np.int64]) -> "Words":
        """Return the words of some prompts, in the order of the rows."""
        lengths = self.counts[rows]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        places = np.repeat(self.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Words(self.hashes[places], offsets, self.line_sizes[places])

    def block(self, rows: NDArray[np.int64]) -> tuple[Hashes, NDArray[np.uint32]]:
        """Return words and line sizes of prompts with an equal number of words: one row per prompt."""
        width = int(self.counts[rows[0]]) if len(rows) else 0
        places = self.offsets[rows][:, None] + np.arange(width)
        return self.hashes[places], self.line_sizes[places]


PERMUTATIONS: Final = 126
SEED: Final = 42
LEAST_RECALL: Final = 0.9
"""Smallest share of pairs at exactly the threshold's similarity that must share a band."""
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio's fraction, as in Knuth's multiplicative hashing."""


def rows_per_band(threshold: float) -> int:
    """Return the most rows per band with which pairs at the threshold still meet.

    A pair with Jaccard similarity s meets with probability 1 - (1 - s^r)^b, where b bands have r rows each.
    """
    fitting = (
        rows
        for rows in range(1, PERMUTATIONS + 1)
        if 1 - (1 - threshold**rows) ** (PERMUTATIONS // rows) >= LEAST_RECALL
    )
    return max(fitting, default=1)


def bands(words: Words, threshold: float) -> Hashes:
    """Return the bands of each prompt's sketch: one row per prompt, one column per band.

    A prompt is sketched as the set of its words and of its pairs of neighbouring words, so that their order counts.
    """
    from rensa import RMinHash

    tokens, offsets = _tokens(words)
    sketches = RMinHash.digest_matrix_from_flat_token_hashes(tokens, offsets, PERMUTATIONS, SEED)
    matrix = np.asarray(sketches.to_rows(), dtype=np.uint64).reshape(-1, PERMUTATIONS)
    rows = rows_per_band(threshold)
    banded = matrix[:, : PERMUTATIONS // rows * rows].reshape(len(matrix), -1, rows)
    keys: Hashes = np.zeros(banded.shape[:2], np.uint64)
    for row in range(rows):
        keys = mixed(keys, banded[:, :, row])
    return keys


def mixed(keys: Hashes, more: Hashes | np.uint64) -> Hashes:
    """Fold further values into 64-bit keys; order matters."""
    folded: Hashes = (keys ^ more) * _ODD
    return folded ^ (folded >> np.uint64(29))


def _tokens(words: Words) -> tuple[Hashes, NDArray[np.uint64]]:
    following = np.append(words.hashes[1:], np.uint64(0))
    pairs = mixed(words.hashes, following)
    last = words.offsets[1:] - 1
    # The last word has no successor: a token already in the set fills its place.
    pairs[last] = words.hashes[last]
    return np.stack([words.hashes, pairs], axis=1).reshape(-1), (2 * words.offsets).astype(np.uint64)
