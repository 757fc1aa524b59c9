"""Rows of prompts and datasets: the locations of a prompt, or of prompts made from a review, order or customer."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.artifact import ArtifactRecord
from schemas.tables.prompts import SPLITS
from tasks.lineage.graph.descriptions import PROMPTS_FILE, QUARANTINE_FILE, split_file
from tasks.lineage.store.inventory import Inventory

ORIGIN: Final = ("task", "source", "customer_id", "order_id", "review_id")
PROMPTS: Final = "prompts"
QUARANTINE: Final = "quarantine"
_COLUMNS: Final = ("prompt_id", *ORIGIN, "parent_id")
_TEXTS: Final = ("system", "prompt")
_PLACEHOLDER: Final = re.compile(r"\[[A-Z]+\]")


@dataclass(frozen=True)
class PlacedRow:
    """Row of a prompt in one table of one artifact."""

    prompt_id: str
    task: str | None
    source: str | None
    customer_id: str | None
    order_id: str | None
    review_id: str | None
    parent_id: str | None
    reason: str | None
    """Reason of the quarantine; None elsewhere."""
    artifact: str
    """The sha256 of the artifact."""
    place: str
    """`prompts`, the name of a split, or `quarantine`."""

    @property
    def origin(self) -> tuple[str | None, ...]:
        """Return the source of the row, in the order of `ORIGIN`."""
        return self.task, self.source, *self.people

    @property
    def people(self) -> tuple[str | None, ...]:
        """Return the customer, the order and the review of the row."""
        return self.customer_id, self.order_id, self.review_id


def find_rows(inventory: Inventory, condition: pl.Expr) -> list[PlacedRow]:
    """Return the rows, in all prompt tables of the store, that satisfy a condition on their columns.

    A table that cannot be read has none; its artifact's node reports it.
    """
    tables = list(_tables(inventory))
    queries = [
        pl.scan_parquet(path, glob=False)
        .filter(condition)
        .select(*_COLUMNS, "reason" if place == QUARANTINE else pl.lit(None, pl.String).alias("reason"))
        for _, place, path in tables
    ]
    return [
        PlacedRow(**row, artifact=record.sha256, place=place)
        for (record, place, _), rows in zip(tables, _collected(queries), strict=True)
        for row in rows.iter_rows(named=True)
    ]


def _collected(queries: Sequence[pl.LazyFrame]) -> Iterator[pl.DataFrame]:
    """Collect all at once, or one by one if a file cannot be read."""
    try:
        yield from pl.collect_all(queries)
    except (OSError, PolarsError):
        for query in queries:
            try:
                yield query.collect()
            except (OSError, PolarsError):
                yield pl.DataFrame()


def with_kin(inventory: Inventory, rows: Sequence[PlacedRow]) -> tuple[list[PlacedRow], list[tuple[str, str]]]:
    """Return rows with those of their paraphrases, their paraphrase sources, and their scrubbed forms.

    The id of a prompt is its content, so scrubbing personal data changes it. The two forms are matched by their origin,
    of the same people, and by all of their texts that scrubbing keeps.

    Returns:
        The rows, and for each prompt changed by scrubbing its old id and its id in a dataset.
    """
    known = {row.prompt_id for row in rows}
    parents = {row.parent_id for row in rows if row.parent_id is not None}
    related = pl.col("parent_id").is_in(sorted(known)) | pl.col("prompt_id").is_in(sorted(known | parents))
    found = list(dict.fromkeys([*rows, *find_rows(inventory, related)]))
    ids = {row.prompt_id for row in found}
    alike = list(dict.fromkeys([*found, *_of_the_same_people(inventory, found)]))
    pairs = [pair for pair in _scrubbed(inventory, alike) if ids & set(pair)]
    ids |= {prompt_id for pair in pairs for prompt_id in pair}
    return [row for row in alike if row.prompt_id in ids], pairs


def _of_the_same_people(inventory: Inventory, rows: Sequence[PlacedRow]) -> list[PlacedRow]:
    """Return the rows of the same origins as rows found only in prompts, or only in a dataset."""
    placed = _places(rows)
    origins = {
        row.origin
        for row in rows
        if any(value is not None for value in row.people)
        and any(row.prompt_id not in placed.get(other, ()) for other in _beside(inventory, row))
    }
    if not origins:
        return []
    return find_rows(
        inventory,
        pl.any_horizontal(
            [
                pl.all_horizontal(
                    [pl.col(name).eq_missing(pl.lit(value)) for name, value in zip(ORIGIN, origin, strict=True)]
                )
                for origin in sorted(origins, key=str)
            ]
        ),
    )


def _scrubbed(inventory: Inventory, rows: Sequence[PlacedRow]) -> list[tuple[str, str]]:
    """Pair prompts missing from their dataset with their scrubbed forms there."""
    placed = _places(rows)
    pairs = {
        (before.prompt_id, after.prompt_id)
        for after in rows
        if after.place != PROMPTS
        for before in rows
        if before.artifact in _beside(inventory, after)
        and before.origin == after.origin
        and before.prompt_id not in placed[after.artifact]
        and after.prompt_id not in placed[before.artifact]
    }
    texts = _texts(inventory, {prompt_id for pair in pairs for prompt_id in pair})
    return sorted(
        (before, after)
        for before, after in pairs
        if {before, after} <= texts.keys() and _may_become(texts[before], texts[after])
    )


def _texts(inventory: Inventory, prompt_ids: Collection[str]) -> dict[str, tuple[str | None, ...]]:
    """Return the texts of some prompts, in the order of `_TEXTS`."""
    if not prompt_ids:
        return {}
    queries = [
        pl.scan_parquet(path, glob=False)
        .filter(pl.col("prompt_id").is_in(sorted(prompt_ids)))
        .select("prompt_id", *_TEXTS)
        for _, _, path in _tables(inventory)
    ]
    return {prompt_id: tuple(texts) for table in _collected(queries) for prompt_id, *texts in table.iter_rows()}


def _may_become(before: Iterable[str | None], after: Iterable[str | None]) -> bool:
    """Return whether texts are equal except where scrubbing inserts placeholders."""
    return all(
        one == other if one is None or other is None else re.fullmatch(_pattern(other), one, re.DOTALL) is not None
        for one, other in zip(before, after, strict=True)
    )


def _pattern(scrubbed: str) -> str:
    """Return a pattern of the texts that scrubbing may have turned into this one."""
    first, *others = map(re.escape, _PLACEHOLDER.split(scrubbed))
    if not others:
        return first
    # Atomic, without backtracking: the first match of a part is as good as any other, and the last part ends the text.
    return first + "".join(f"(?>.+?{part})" for part in others[:-1]) + f".+{others[-1]}"


def _places(rows: Sequence[PlacedRow]) -> dict[str, set[str]]:
    """Return the ids of rows by their artifacts."""
    placed: dict[str, set[str]] = {}
    for row in rows:
        placed.setdefault(row.artifact, set()).add(row.prompt_id)
    return placed


def _beside(inventory: Inventory, row: PlacedRow) -> list[str]:
    """Return the datasets that may contain a prompts' row, or the prompts of a dataset's row."""
    if row.place == PROMPTS:
        return [each.sha256 for each in inventory.of_kind("dataset") if each.inputs.get("prompts") == row.artifact]
    prompts = inventory.records[row.artifact].inputs.get("prompts")
    return [prompts] if prompts is not None and prompts in inventory.records else []


def _tables(inventory: Inventory) -> Iterator[tuple[ArtifactRecord, str, Path]]:
    for record in inventory.of_kind("prompts"):
        yield record, PROMPTS, inventory.folder(record.sha256) / PROMPTS_FILE
    for record in inventory.of_kind("dataset"):
        folder = inventory.folder(record.sha256)
        for split in SPLITS:
            yield record, split, folder / split_file(split)
        yield record, QUARANTINE, folder / QUARANTINE_FILE
