"""Normalized words of a prompt, without case, accents and punctuation, in order, and the numbers among them.

Two prompts of a task with the same words are the same question. Numbers are facts and keep their punctuation: `4,5` is
not `45`. Symbols are words: `<` is not `>`, and emoji differ from each other.
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
    """Hash of each word."""
    offsets: NDArray[np.int64]
    """Start of each prompt's words, and the end of the last one's: one more than there are prompts."""
    line_sizes: NDArray[np.uint32]
    """Number of words in the line of each word."""

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
