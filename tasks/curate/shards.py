"""Shards of the prompts, small enough for memory: each is checked, scrubbed, measured and fingerprinted by itself."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from schemas.errors import InputError
from schemas.tables.prompts import COLUMNS
from tasks.curate.likeness import fingerprint, words_of
from tasks.curate.quarantine import (
    drop_blank,
    drop_keys_given_twice,
    drop_personal_ids,
    drop_schema_failures,
    drop_sql_that_fails,
    find_too_long,
)
from tasks.curate.reviews import review_words
from tasks.curate.words import bands
from tasks.personal_data.scrub import Kind
from tasks.personal_data.scrub_table import scrub_broken, scrub_prompts
from tasks.policy.length import PromptLengths

ROW: Final = "row"
"""Column with a prompt's row number in the original file, from 1."""


@dataclass(frozen=True)
class Shard:
    """Job of one worker: some rows of a prompt table, and the steps to apply."""

    prompts: Path
    number: int
    first_row: int
    rows: int
    work: Path
    lengths: PromptLengths
    max_prompt_tokens: int
    near_duplicate_threshold: float
    given_twice: frozenset[int] = frozenset()
    """Rows of this shard, by their number in the original file, whose line of JSON gave a key twice."""

    @property
    def kept(self) -> Path:
        """Return the file of the rows that fit the schema, a prompt table with the column `row`."""
        return self.work / f"kept-{self.number:05}.parquet"

    @property
    def index(self) -> Path:
        """Return the file of fingerprints, words of reviews, bands of sketches, and `too_long`, a sentence or null."""
        return self.work / f"index-{self.number:05}.parquet"

    @property
    def dropped(self) -> Path:
        """Return the file of the other rows, with the reason of each."""
        return self.work / f"dropped-{self.number:05}.parquet"


@dataclass(frozen=True)
class ShardResult:
    """Result of a shard beside its files, for the whole table."""

    usable: int
    scrubbed: Counter[Kind]
    """Replacements by kind, in all rows."""
    renamed: Mapping[str, str]
    """The ids of prompts that scrubbing changed: old to new."""


def curate_shard(shard: Shard) -> ShardResult:
    """Check, scrub and fingerprint a shard's rows; see `Shard` for the output."""
    single, doubled = drop_keys_given_twice(_read(shard), shard.given_twice)
    fitting, broken = drop_schema_failures(single)
    clean = scrub_prompts(fitting)
    readable, blank = drop_blank(clean.table)
    anonymous, personal = drop_personal_ids(readable)
    usable, failing = drop_sql_that_fails(anonymous)
    too_long = find_too_long(usable, shard.lengths, shard.max_prompt_tokens)
    harmless = scrub_broken(pl.concat([doubled, broken]))
    usable.write_parquet(shard.kept)
    _index(usable, shard.near_duplicate_threshold).with_columns(too_long).write_parquet(shard.index)
    pl.concat([harmless.table, blank, personal, failing]).write_parquet(shard.dropped)
    return ShardResult(too_long.null_count(), clean.replaced + harmless.replaced, {**harmless.renamed, **clean.renamed})


def _read(shard: Shard) -> pl.DataFrame:
    try:
        rows = pl.scan_parquet(shard.prompts, glob=False).slice(shard.first_row, shard.rows).collect()
    except (OSError, PolarsError):
        # The reader's own message may repeat the file's content.
        raise InputError(
            f"{shard.prompts} cannot be read from row {shard.first_row + 1} on; make it again with `tucano synthesize`"
        ) from None
    first = shard.first_row + 1
    return rows.with_columns(pl.int_range(first, first + pl.len(), dtype=pl.UInt32).alias(ROW)).select(*COLUMNS, ROW)


def _index(table: pl.DataFrame, threshold: float) -> pl.DataFrame:
    marks = fingerprint(table)
    if not table.height:
        return marks.with_columns(*review_words(table), bands=pl.Series([], dtype=pl.List(pl.UInt64)))
    sketches = bands(words_of(marks), threshold)
    return marks.with_columns(*review_words(table), pl.Series("bands", sketches.astype(np.uint64)).arr.to_list())
