"""Exact and near-duplicate prompts; of each set, the copy whose reference knows most is kept.

Of equally known copies, one that is held out from training anyway is kept, else the first.
"""

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.curate.likeness import SAID
from tasks.curate.near_duplicates import near_duplicates
from tasks.curate.words import Hashes, Words

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
