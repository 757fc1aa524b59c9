"""Assignment of prompts to splits or to the quarantine: the one step that needs the whole table at once.

It reads fingerprints and references, some hundred bytes per prompt, never the prompts' texts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schemas.config.config import CurateConfig
from schemas.tables.prompts import KNOWN_TO_BASE
from tasks.curate.kinship import SOURCES, with_kin
from tasks.curate.leakage import find_leaks, ranks
from tasks.curate.likeness import FINGERPRINT, words_of
from tasks.curate.near_duplicates import KEPT, find_copies
from tasks.curate.quarantine import DUPLICATE, HELD_OUT, LEAKAGE, NEAR_DUPLICATE, TOO_LONG
from tasks.curate.reviews import REVIEW_COLUMNS, QuotedReviews, same_reviews
from tasks.curate.split import assign
from tasks.curate.words import Hashes

Rows = NDArray[np.int64]
NONE_KNOWN: Final[Hashes] = np.empty(0, np.uint64)


def decide(
    indices: Sequence[Path], renamed: Mapping[str, str], config: CurateConfig, known: Hashes = NONE_KNOWN
) -> pl.DataFrame:
    """Return one row per prompt, in order: its `split`, or null and the `reason` and `detail` of its exclusion.

    Args:
        indices: The shards' fingerprints, in order.
        renamed: The ids that scrubbing changed.
        config: Sizes, shares and thresholds.
        known: Hashes of the words of prompts that the base was trained on: they may be trained on again, and test
            nothing.

    Raises:
        InputError: The prompts cannot be split into these sizes.
    """
    index = _read(indices, [*FINGERPRINT, "too_long"]).with_columns(given_parent_id="parent_id")
    index = index.with_columns(pl.col("parent_id").replace(renamed))
    index = index.with_columns(family=pl.coalesce("parent_id", "prompt_id"))
    index = with_kin(index, config.split_seed, config.held_out_share)
    words = words_of(_read(indices, ["words", "lines"]))
    bands = _read(indices, ["bands"])["bands"].explode().to_numpy().reshape(index.height, -1)
    usable = index["too_long"].is_null().arg_true().to_numpy().astype(np.int64)
    copies = np.full(index.height, KEPT)
    if len(usable) == index.height:
        # Usually all are, and a copy of everything would double the memory.
        found = find_copies(index, words, bands)
    else:
        found = find_copies(index[usable], words.take(usable), bands[usable])
    copies[usable] = np.where(found == KEPT, KEPT, usable[found])
    del bands
    kept = usable[found == KEPT]
    unique, spoken = index[kept], words.take(kept)
    reviews = QuotedReviews.of(_read(indices, [*SOURCES, *REVIEW_COLUMNS])[kept])
    leaks = np.flatnonzero(np.isin(kept, _better_known_than_held_out(index, copies)))
    leaks = np.union1d(leaks, _reviewed_by_held_out(unique, reviews))
    taught = np.flatnonzero(unique["held_out"].to_numpy() & np.isin(unique["words_hash"].to_numpy(), known))
    leaks = np.union1d(leaks, taught)
    related = _relatives_of_copies(index, copies)
    while True:
        stay = np.setdiff1d(np.arange(len(kept)), leaks)
        splits = pl.Series([None] * len(kept), dtype=pl.String).scatter(stay, assign(unique[stay], config))
        more = np.union1d(find_leaks(unique, spoken, splits), _leaking_relatives(related, kept, splits))
        more = np.union1d(more, _validated_on_test(reviews, splits))
        if not len(more):
            break
        # A leaking row may have been a validation row, which another now replaces.
        leaks = np.union1d(leaks, more)
    return _decisions(index, copies, splits, kept, kept[leaks], kept[taught])


def _relatives_of_copies(index: pl.DataFrame, copies: Rows) -> pl.DataFrame:
    """Return each kept `row` that is a paraphrase, or the parent, of a dropped copy of another kept row, `original`."""
    rows = pl.DataFrame({"row": np.arange(index.height), "original": copies, "family": index["family"]})
    dropped = rows.filter(pl.col("original") != KEPT).select("original", "family")
    kept = rows.filter(pl.col("original") == KEPT).select("row", "family")
    return (
        kept.join(dropped, on="family").filter(pl.col("row") != pl.col("original")).select("row", "original").unique()
    )


def _leaking_relatives(related: pl.DataFrame, kept: Rows, splits: pl.Series) -> Rows:
    """Return the kept rows in a less protected split than a row whose dropped copy they paraphrase."""
    rank = ranks(splits)
    # Overlong rows are no copies, and are never kept.
    pairs = related.filter(pl.col("row").is_in(kept))
    row, original = (np.searchsorted(kept, pairs[column].to_numpy()) for column in ("row", "original"))
    leaking: Rows = np.unique(row[(rank[row] >= 0) & (rank[row] < rank[original])])
    return leaking


def _reviewed_by_held_out(unique: pl.DataFrame, reviews: QuotedReviews) -> Rows:
    """Return the trainable rows on a review that a held-out customer wrote, too.

    Held out is more than what is tested now: what this dataset version tests, the next one must not train on.
    """
    held_out = unique["held_out"].to_numpy()
    pairs = same_reviews(reviews.among(np.flatnonzero(~held_out)), reviews.among(np.flatnonzero(held_out)))
    trainable: Rows = np.unique(pairs[:, 0])
    return trainable


def _validated_on_test(reviews: QuotedReviews, splits: pl.Series) -> Rows:
    """Return the validation rows on a review of a test row."""
    validation, test = (
        reviews.among((splits == side).arg_true().to_numpy().astype(np.int64)) for side in ("validation", "test")
    )
    leaking: Rows = np.unique(same_reviews(validation, test)[:, 0])
    return leaking


def _better_known_than_held_out(index: pl.DataFrame, copies: Rows) -> Rows:
    """Return the trainable prompts whose held-out copy was dropped in their favour, since it knew less.

    They go to no split: otherwise one dataset version would train on the better-known form of what the previous one
    tested.
    """
    held_out = index["held_out"].to_numpy()
    originals: Rows = np.unique(copies[(copies != KEPT) & held_out])
    trainable: Rows = originals[~held_out[originals]]
    return trainable


def _read(indices: Sequence[Path], columns: list[str]) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path, columns=columns, glob=False) for path in indices], rechunk=True)


def _decisions(
    index: pl.DataFrame, copies: Rows, splits: pl.Series, kept: Rows, leaks: Rows, taught: Rows
) -> pl.DataFrame:
    originals = index.select("prompt_id", "words_hash")[np.maximum(copies, 0)]
    reasons = np.where(originals["words_hash"] == index["words_hash"], DUPLICATE, NEAR_DUPLICATE).astype(object)
    reasons[kept] = [HELD_OUT if split is None else None for split in splits]
    reasons[leaks] = LEAKAGE
    reasons[taught] = KNOWN_TO_BASE
    reasons[index["too_long"].is_not_null().arg_true()] = TOO_LONG
    decided = pl.DataFrame(
        {
            "reason": pl.Series(reasons.tolist(), dtype=pl.String),
            "original": originals["prompt_id"],
            "too_long": index["too_long"],
        }
    )
    details = {
        TOO_LONG: pl.col("too_long"),
        DUPLICATE: pl.format("the same words as {}", "original"),
        NEAR_DUPLICATE: pl.format("but for a word the same as {}", "original"),
        HELD_OUT: pl.lit("held out with its kin, never to be trained on, and needed by no split"),
        LEAKAGE: pl.lit("says, at least but for a word, what a held-out prompt says"),
        KNOWN_TO_BASE: pl.lit("held out, but the base was trained on the same words"),
    }
    detail = pl.coalesce(pl.when(pl.col("reason") == reason).then(text) for reason, text in details.items())
    split = pl.Series("split", [None] * index.height, pl.String).scatter(kept, splits)
    return decided.select(split, "reason", detail=detail)
