"""Which split each prompt goes to, or why it goes to none: the part that must see the whole table at once.

It sees fingerprints only, some hundred bytes a prompt, never the texts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schemas.config import CurateConfig
from tasks.curate.duplicates import KEPT, find_copies
from tasks.curate.fingerprint import FINGERPRINT, words_of
from tasks.curate.kinship import with_kin
from tasks.curate.leakage import find_leaks
from tasks.curate.quarantine import DUPLICATE, HELD_OUT, LEAKAGE, NEAR_DUPLICATE
from tasks.curate.split import assign

Rows = NDArray[np.int64]


def decide(indices: Sequence[Path], renamed: Mapping[str, str], config: CurateConfig, seed: int) -> pl.DataFrame:
    """Return one row a prompt, in order: its `split`, or null and the `reason` and `detail` of its being dropped.

    Args:
        indices: The shards' fingerprints, in order.
        renamed: The ids that scrubbing changed.
        config: Sizes, shares and thresholds.
        seed: Key of the split.

    Raises:
        InputError: The prompts cannot be split into these sizes.
    """
    index = _read(indices, [*FINGERPRINT]).with_columns(pl.col("parent_id").replace(renamed))
    index = with_kin(index.with_columns(family=pl.coalesce("parent_id", "prompt_id")), seed, config.held_out_share)
    words = words_of(_read(indices, ["words"]))
    bands = _read(indices, ["bands"])["bands"].explode().to_numpy().reshape(index.height, -1)
    copies = find_copies(index, words, bands)
    del bands
    kept = np.flatnonzero(copies == KEPT)
    unique, spoken = index[kept], words.take(kept)
    leaks = np.empty(0, np.int64)
    while True:
        stay = np.setdiff1d(np.arange(len(kept)), leaks)
        splits = pl.Series([None] * len(kept), dtype=pl.String).scatter(stay, assign(unique[stay], config))
        more = find_leaks(unique, spoken, splits)
        if not len(more):
            break
        # What leaks may have been a validation row, whose place another takes now.
        leaks = np.union1d(leaks, more)
    return _decisions(index, copies, splits, kept, kept[leaks])


def _read(indices: Sequence[Path], columns: list[str]) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path, columns=columns) for path in indices], rechunk=True)


def _decisions(index: pl.DataFrame, copies: Rows, splits: pl.Series, kept: Rows, leaks: Rows) -> pl.DataFrame:
    originals = index.select("prompt_id", "text")[np.maximum(copies, 0)]
    reasons = np.where(originals["text"] == index["text"], DUPLICATE, NEAR_DUPLICATE).astype(object)
    reasons[kept] = [HELD_OUT if split is None else None for split in splits]
    reasons[leaks] = LEAKAGE
    decided = pl.DataFrame({"reason": pl.Series(reasons.tolist(), dtype=pl.String), "original": originals["prompt_id"]})
    details = {
        DUPLICATE: pl.format("the same words as {}", "original"),
        NEAR_DUPLICATE: pl.format("but for a word the same as {}", "original"),
        HELD_OUT: pl.lit("held out with its kin, never to be trained on, and needed by no split"),
        LEAKAGE: pl.lit("but for a word the same as a prompt of validation or test"),
    }
    detail = pl.coalesce(pl.when(pl.col("reason") == reason).then(text) for reason, text in details.items())
    split = pl.Series("split", [None] * index.height, pl.String).scatter(kept, splits)
    return decided.select(split, "reason", detail=detail)
