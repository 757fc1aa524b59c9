"""MinHash sketches of prompts, cut into bands: prompts that are alike share a band with high probability.

Broder 1997; Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, 3.4.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tasks.curate.words import Hashes, Words

PERMUTATIONS: Final = 126
SEED: Final = 42
LEAST_RECALL: Final = 0.9
"""Of pairs exactly as alike as the threshold, the share that meets in a band at least."""
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio's fraction, as in Knuth's multiplicative hashing."""


def rows_per_band(threshold: float) -> int:
    """Return the most rows a band may have for pairs as alike as the threshold still to meet.

    A pair with Jaccard similarity s meets with probability 1 - (1 - s^r)^b, where b bands have r rows each.
    """
    fitting = (
        rows
        for rows in range(1, PERMUTATIONS + 1)
        if 1 - (1 - threshold**rows) ** (PERMUTATIONS // rows) >= LEAST_RECALL
    )
    return max(fitting, default=1)


def bands(words: Words, threshold: float) -> Hashes:
    """Return the bands of each prompt's sketch: one row a prompt, one column a band.

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
    """Fold further values into 64-bit keys; order counts."""
    folded: Hashes = (keys ^ more) * _ODD
    return folded ^ (folded >> np.uint64(29))


def _tokens(words: Words) -> tuple[Hashes, NDArray[np.uint64]]:
    following = np.append(words.hashes[1:], np.uint64(0))
    pairs = mixed(words.hashes, following)
    last = words.offsets[1:] - 1
    # After the last word comes nothing: its place is filled by a token that is in the set already.
    pairs[last] = words.hashes[last]
    return np.stack([words.hashes, pairs], axis=1).reshape(-1), (2 * words.offsets).astype(np.uint64)
