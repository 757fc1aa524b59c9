"""The last check: the files of a dataset, read again, fit their schema and share nothing between their splits."""

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
    """Some rows of one split, which must fit the schema, and of which other splits must know nothing."""

    folder: Path
    split: str
    first_row: int
    rows: int
    others: tuple[str, ...]


def prove(folder: Path, rows_at_once: int, map_shards: MapShards) -> None:
    """Check a dataset's files.

    Args:
        folder: The dataset.
        rows_at_once: Rows of the larger split that one worker has in memory.
        map_shards: Who works on them.

    Raises:
        LeakageError: Two splits share something: a fault of this program.
        InputError: Rows do not fit the schema of a dataset: another one.
    """
    for _ in map_shards(prove_stretch, list(_stretches(folder, rows_at_once))):
        pass


def prove_stretch(stretch: Stretch) -> None:
    """Check some rows of a split by themselves and against the whole of others; see `prove`."""
    from schemas.prompt_table import Dataset
    from schemas.table_check import validate_table

    path = split_file(stretch.folder, stretch.split)
    rows = pl.scan_parquet(path).slice(stretch.first_row, stretch.rows).collect()
    marks = fingerprint(validate_table(rows, Dataset, str(path), stretch.first_row + 1))
    for other in stretch.others:
        held_out = pl.read_parquet(split_file(stretch.folder, other))
        prove_apart(stretch.split, marks, other, fingerprint(held_out))


def _stretches(folder: Path, rows_at_once: int) -> Iterator[Stretch]:
    for place, split in enumerate(SPLITS):
        height = pl.scan_parquet(split_file(folder, split)).select(pl.len()).collect().item()
        for first in range(0, height, rows_at_once):
            yield Stretch(folder, split, first, rows_at_once, SPLITS[place + 1 :])
