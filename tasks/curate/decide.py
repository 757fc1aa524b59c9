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
from tasks.curate.scrub_table import with_renamed_parents
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
    index = with_renamed_parents(_read(indices, [*FINGERPRINT]), renamed)
    index = with_kin(index.with_columns(family=pl.coalesce("parent_id", "prompt_id")), seed, config.held_out_share)
    words = words_of(_read(indices, ["words", "lines"]))
    bands = _read(indices, ["bands"])["bands"].explode().to_numpy().reshape(index.height, -1)
    copies = find_copies(index, words, bands)
    del bands
    kept = np.flatnonzero(copies == KEPT)
    unique, spoken = index[kept], words.take(kept)
    leaks = np.flatnonzero(np.isin(kept, _better_known_than_held_out(index, copies)))
    while True:
        stay = np.setdiff1d(np.arange(len(kept)), leaks)
        splits = pl.Series([None] * len(kept), dtype=pl.String).scatter(stay, assign(unique[stay], config))
        more = find_leaks(unique, spoken, splits)
        if not len(more):
            break
        # What leaks may have been a validation row, whose place another takes now.
        leaks = np.union1d(leaks, more)
    return _decisions(index, copies, splits, kept, kept[leaks])


def _better_known_than_held_out(index: pl.DataFrame, copies: Rows) -> Rows:
    """Return the prompts that may be trained on but for a copy, dropped in their favour, that may not.

    They are in no split: what one version tested would be trained on in the next, only better known.
    """
    held_out = index["held_out"].to_numpy()
    originals: Rows = np.unique(copies[(copies != KEPT) & held_out])
    trainable: Rows = originals[~held_out[originals]]
    return trainable


def _read(indices: Sequence[Path], columns: list[str]) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path, columns=columns) for path in indices], rechunk=True)


def _decisions(index: pl.DataFrame, copies: Rows, splits: pl.Series, kept: Rows, leaks: Rows) -> pl.DataFrame:
    originals = index.select("prompt_id", "words_hash")[np.maximum(copies, 0)]
    reasons = np.where(originals["words_hash"] == index["words_hash"], DUPLICATE, NEAR_DUPLICATE).astype(object)
    reasons[kept] = [HELD_OUT if split is None else None for split in splits]
    reasons[leaks] = LEAKAGE
    decided = pl.DataFrame({"reason": pl.Series(reasons.tolist(), dtype=pl.String), "original": originals["prompt_id"]})
    details = {
        DUPLICATE: pl.format("the same words as {}", "original"),
        NEAR_DUPLICATE: pl.format("but for a word the same as {}", "original"),
        HELD_OUT: pl.lit("held out with its kin, never to be trained on, and needed by no split"),
        LEAKAGE: pl.lit("says, at least but for a word, what a held-out prompt says"),
    }
    detail = pl.coalesce(pl.when(pl.col("reason") == reason).then(text) for reason, text in details.items())
    split = pl.Series("split", [None] * index.height, pl.String).scatter(kept, splits)
    return decided.select(split, "reason", detail=detail)
