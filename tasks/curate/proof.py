"""The last check: the files of a dataset, read again, share nothing between their splits."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tasks.curate.files import split_file
from tasks.curate.fingerprint import fingerprint
from tasks.curate.leakage import prove_apart
from tasks.curate.processes import MapShards
from tasks.curate.split import SPLITS


@dataclass(frozen=True)
class Stretch:
    """Some rows of one split, which another split must know nothing of."""

    folder: Path
    split: str
    first_row: int
    rows: int
    held_out: str


def prove(folder: Path, rows_at_once: int, map_shards: MapShards) -> None:
    """Check a dataset's files.

    Args:
        folder: The dataset.
        rows_at_once: Rows of the larger split that one worker has in memory.
        map_shards: Who works on them.

    Raises:
        LeakageError: Two splits share something: a fault of this program.
    """
    for _ in map_shards(prove_stretch, list(_stretches(folder, rows_at_once))):
        pass


def prove_stretch(stretch: Stretch) -> None:
    """Check some rows of a split against the whole of another; see `prove`."""
    path = split_file(stretch.folder, stretch.split)
    rows = pl.scan_parquet(path).slice(stretch.first_row, stretch.rows).collect()
    held_out = pl.read_parquet(split_file(stretch.folder, stretch.held_out))
    prove_apart(stretch.split, fingerprint(rows), stretch.held_out, fingerprint(held_out))


def _stretches(folder: Path, rows_at_once: int) -> Iterator[Stretch]:
    for split, held_out in itertools.combinations(SPLITS, 2):
        height = pl.scan_parquet(split_file(folder, split)).select(pl.len()).collect().item()
        for first in range(0, height, rows_at_once):
            yield Stretch(folder, split, first, rows_at_once, held_out)
