"""Verification of a written dataset: its files fit their schema and its splits share nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from schemas.tables.prompts import DATASET, SPLITS
from schemas.tables.table_check import table_faults
from tasks.curate.files import split_file
from tasks.curate.kinship import SOURCES
from tasks.curate.leakage import LeakageError, prove_apart
from tasks.curate.likeness import fingerprint
from tasks.curate.processes import MapShards
from tasks.curate.reviews import QuotedReviews, review_words, same_reviews


@dataclass(frozen=True)
class SplitSegment:
    """Segment of one split, to check by itself and against other splits."""

    folder: Path
    split: str
    first_row: int
    rows: int
    others: tuple[str, ...]


class UnsoundDatasetError(RuntimeError):
    """Error for a written dataset that violates its schema: a bug of this program."""


def prove(folder: Path, rows_at_once: int, map_shards: MapShards) -> None:
    """Check a dataset's files.

    Raises:
        LeakageError: Two splits share something: a bug of this program.
        UnsoundDatasetError: Rows violate the schema of a dataset, or one is duplicated.
    """
    for split in SPLITS:
        ids = pl.read_parquet(split_file(folder, split), columns=["prompt_id"], glob=False)["prompt_id"]
        if ids.n_unique() < len(ids):
            raise UnsoundDatasetError(f"{split} has {len(ids) - ids.n_unique()} prompts more than once")
    for _ in map_shards(prove_segment, list(_segments(folder, rows_at_once))):
        pass


def prove_segment(segment: SplitSegment) -> None:
    """Check a segment of a split by itself and against the whole of others; see `prove`."""
    path = split_file(segment.folder, segment.split)
    rows = pl.scan_parquet(path, glob=False).slice(segment.first_row, segment.rows).collect()
    faults = table_faults(rows, DATASET, range(segment.first_row + 1, segment.first_row + rows.height + 1))
    if faults:
        raise UnsoundDatasetError(f"{segment.split}: {'; '.join(faults)}")
    marks, reviews = fingerprint(rows), _reviews(rows)
    for other in segment.others:
        held_out = pl.read_parquet(split_file(segment.folder, other), glob=False)
        prove_apart(segment.split, marks, other, fingerprint(held_out))
        if shared := len(same_reviews(reviews, _reviews(held_out))):
            raise LeakageError(f"{segment.split} and {other} share {shared} pairs of prompts on the same review")


def _reviews(rows: pl.DataFrame) -> QuotedReviews:
    return QuotedReviews.of(rows.select(*SOURCES).with_columns(review_words(rows)))


def _segments(folder: Path, rows_at_once: int) -> Iterator[SplitSegment]:
    for place, split in enumerate(SPLITS):
        height = pl.scan_parquet(split_file(folder, split), glob=False).select(pl.len()).collect().item()
        for first in range(0, height, rows_at_once):
            yield SplitSegment(folder, split, first, rows_at_once, SPLITS[place + 1 :])
