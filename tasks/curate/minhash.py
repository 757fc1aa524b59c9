"""MinHash sketches of prompts, cut into bands: similar prompts share a band with high probability.

Broder 1997; Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, 3.4.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tasks.curate.words import Hashes, Words

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
