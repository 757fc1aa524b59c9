"""Dataset files, written shard by shard: the splits, each in prompt order, and the quarantine."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from schemas.references import knows_anything
from schemas.tables.parquet import open_parquet
from schemas.tables.prompts import COLUMNS, SPLITS
from schemas.tasks import TASK_NAMES
from tasks.curate.shards import ROW, Shard
from tasks.personal_data.scrub_table import with_renamed_parents

QUARANTINE_FILE = "quarantine.parquet"
UNKNOWN_TASK = "unknown"
"""Count key of rows with an invalid task."""
QUARANTINE_COLUMNS = {**COLUMNS, ROW: pl.UInt32, "reason": pl.String, "detail": pl.String}


@dataclass(frozen=True)
class Counts:
    """Row counts of the written files."""

    splits: Counter[tuple[str, str]]
    """By split and task."""
    reasons: Counter[tuple[str, str]]
    """By reason and task."""
    sources: Counter[str]
    """Rows in the splits, by source."""
    untold: Counter[tuple[str, str]]
    """Rows in the splits without a reference, by split and task."""

    def rows(self, split: str) -> int:
        """Return the number of rows in a split."""
        return sum(count for (of_split, _), count in self.splits.items() if of_split == split)


def split_file(folder: Path, split: str) -> Path:
    """Return the file of a split in a dataset."""
    return folder / "data" / f"{split}.parquet"


def write_splits(shards: Sequence[Shard], decisions: pl.DataFrame, renamed: Mapping[str, str], folder: Path) -> Counts:
    """Write `data/*.parquet` and `quarantine.parquet`; equal prompts and decisions give equal bytes."""
    counts = Counts(Counter(), Counter(), Counter(), Counter())
    (folder / "data").mkdir(parents=True)
    first = 0
    with ExitStack() as stack:
        tables = {split: stack.enter_context(open_parquet(split_file(folder, split), COLUMNS)) for split in SPLITS}
        quarantine = stack.enter_context(open_parquet(folder / QUARANTINE_FILE, QUARANTINE_COLUMNS))
        for shard in shards:
            rows = with_renamed_parents(pl.read_parquet(shard.kept, glob=False), renamed)
            decided = pl.concat([rows, decisions.slice(first, rows.height)], how="horizontal")
            first += rows.height
            for (split,), part in decided.drop_nulls("split").partition_by("split", as_dict=True).items():
                tables[split].add(part)
                counts.splits.update((split, task) for task in part["task"])
                counts.sources.update(part["source"])
                told = {text: knows_anything(json.loads(text)) for text in part["reference"].unique()}
                untold = part.filter(~part["reference"].replace_strict(told, return_dtype=pl.Boolean))
                counts.untold.update((split, task) for task in untold["task"])
            broken = with_renamed_parents(pl.read_parquet(shard.dropped, glob=False), renamed)
            homeless = decided.filter(pl.col("split").is_null()).drop("split")
            dropped = pl.concat([broken, homeless]).sort(ROW)
            quarantine.add(dropped)
            counts.reasons.update(zip(dropped["reason"], map(_named, dropped["task"]), strict=True))
    return counts


def _named(task: str | None) -> str:
    # A value in the wrong column may be a shopper's words.
    return task if task in TASK_NAMES else UNKNOWN_TASK
