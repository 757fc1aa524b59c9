"""The files of a dataset: rows in the order of the prompts, each where it was sent, and counted there."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from schemas.config.policy import PolicyConfig
from schemas.tables.prompts import SPLITS, PromptRow, read_prompt_table
from tasks.curate.files import split_file, write_splits
from tasks.curate.quarantine import HELD_OUT, SCHEMA, quarantined
from tasks.curate.shards import Shard
from tasks.policy.length import PromptLengths
from tests.prompt_tables import prompt_table
from tests.tasks.curate.prompt_rows import independent_rows, prompt_row

Decision = tuple[str | None, str | None, str | None]
OUT: Decision = (None, HELD_OUT, "of no use")
LENGTHS = PromptLengths.of(PolicyConfig(stand_in=True))


def shards(work: Path, rows: Sequence[PromptRow], broken: set[int], size: int, **values: Any) -> list[Shard]:
    """Leave what workers leave: the rows that fit, and those with the given numbers as ones that do not."""
    work.mkdir()
    table = prompt_table(rows).with_columns(row=pl.int_range(1, len(rows) + 1, dtype=pl.UInt32))
    unfit = table.with_columns(pl.lit(value, pl.String).alias(name) for name, value in values.items())
    made = []
    for number, first in enumerate(range(0, len(rows), size)):
        shard = Shard(work, number, first, size, work, LENGTHS, 100, 0.7)
        part, unfit_part = table.slice(first, size), unfit.slice(first, size)
        part.filter(~pl.col("row").is_in(broken)).write_parquet(shard.kept)
        dropped = unfit_part.filter(pl.col("row").is_in(broken))
        quarantined(dropped, SCHEMA, ["prompt: str_length"] * dropped.height).write_parquet(shard.dropped)
        made.append(shard)
    return made


def decisions(*decided: Decision) -> pl.DataFrame:
    return pl.DataFrame(decided, {"split": pl.String, "reason": pl.String, "detail": pl.String}, orient="row")


ROWS = [*independent_rows(push=4, churn=3)]
DECIDED = decisions(
    ("train", None, None),
    ("test", None, None),
    ("train", None, None),
    ("validation", None, None),
    OUT,
    ("train", None, None),
)


def test_the_bytes_do_not_depend_on_the_shards(tmp_path: Path) -> None:
    for size in (1, 3, 100):
        write_splits(shards(tmp_path / f"work{size}", ROWS, {3}, size), DECIDED, {}, tmp_path / f"out{size}")
    files = [*(split_file(Path(), split) for split in SPLITS), Path("quarantine.parquet")]
    for file in files:
        assert len({(tmp_path / f"out{size}" / file).read_bytes() for size in (1, 3, 100)}) == 1


def test_paraphrases_follow_their_renamed_parents_into_splits_and_quarantine(tmp_path: Path) -> None:
    parent = prompt_row("churn", "uma")
    rows = [replace(prompt_row("churn", text), parent_id=parent.prompt_id) for text in ("duas", "três")]
    rows.append(replace(prompt_row("churn", "quatro"), parent_id="1" * 64))
    decided = decisions(("train", None, None), OUT, ("train", None, None))
    write_splits(shards(tmp_path / "work", rows, set(), 2), decided, {parent.prompt_id: "0" * 64}, tmp_path / "out")
    assert read_prompt_table(split_file(tmp_path / "out", "train"))["parent_id"].to_list() == ["0" * 64, "1" * 64]
    assert pl.read_parquet(tmp_path / "out" / "quarantine.parquet")["parent_id"].to_list() == ["0" * 64]


def test_rows_of_which_nothing_is_known_are_counted_where_they_are(tmp_path: Path) -> None:
    untold = prompt_row("push", "Anuncie algo", {"product": None, "offer": None})
    decided = decisions(("test", None, None), ("train", None, None))
    counts = write_splits(shards(tmp_path / "work", [untold, ROWS[0]], set(), 2), decided, {}, tmp_path / "out")
    assert counts.untold == Counter({("test", "push"): 1})
