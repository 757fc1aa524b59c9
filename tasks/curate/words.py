"""What a prompt says apart from case, accents and punctuation: its words, in order, and the numbers among them.

Two prompts of a task with the same words are the same question. Numbers are facts and keep their punctuation: `4,5` is
not `45`.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

WORD: Final = r"\d+(?:[.,:/\-]\d+)*%?|\w+"
HASH_SEED: Final = 0

Hashes = NDArray[np.uint64]


def with_words(table: pl.DataFrame) -> pl.DataFrame:
    """Add `words`, the list of a prompt's words; a prompt without a single one is itself its only word."""
    plain = pl.col("prompt").str.normalize("NFKD").str.replace_all(r"\p{M}", "").str.to_lowercase()
    words = plain.str.extract_all(WORD)
    return table.with_columns(words=pl.when(words.list.len() > 0).then(words).otherwise(pl.concat_list("prompt")))


def hashed(text: pl.Expr) -> pl.Expr:
    """Return the 64-bit hash of a text, the same on every machine."""
    import polars_hash  # noqa: F401 - gives expressions their `nchash`

    hashes: pl.Expr = text.nchash.xxh3_64(seed=HASH_SEED)  # type: ignore[attr-defined]
    return hashes


def spoken() -> pl.Expr:
    """Return the hash of all of a prompt's `words`: prompts with the same one say the same."""
    return hashed(pl.col("words").list.join(" "))


@dataclass(frozen=True)
class Words:
    """The words of many prompts as hashes, one prompt's after another's."""

    hashes: Hashes
    """Of each word."""
    offsets: NDArray[np.int64]
    """Where each prompt's words begin, and where the last one's end: one more than there are prompts."""

    @classmethod
    def of(cls, words: pl.Series) -> "Words":
        """Hash the lists of words that `with_words` adds."""
        flat = words.explode().rename("word").to_frame().select(hashed(pl.col("word")))
        lengths = words.list.len().to_numpy().astype(np.int64)
        return cls(flat.to_series().to_numpy(), np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many words each prompt has."""
        return np.diff(self.offsets)

    def take(self, rows: NDArray[np.int64]) -> "Words":
        """Return the words of some prompts, in the order of the rows."""
        lengths = self.counts[rows]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        places = np.repeat(self.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Words(self.hashes[places], offsets)

    def block(self, rows: NDArray[np.int64], width: int) -> Hashes:
        """Return the words of prompts that have all the same number of them: one row a prompt, `width` columns."""
        block: Hashes = self.hashes[self.offsets[rows][:, None] + np.arange(width)]
        return block
