"""Identifiers in the tables of artifacts: of prompts in their places, and of people, orders and reviews."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, get_args

import polars as pl
from polars.exceptions import PolarsError

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.tables.prompts import SPLITS
from tasks.lineage.graph.descriptions import PROMPTS_FILE, QUARANTINE_FILE, split_file
from tasks.lineage.store.inventory import Inventory

IdentifierKind = Literal["customer_unique_id", "customer_id", "order_id", "review_id"]
PEOPLE: Final[tuple[IdentifierKind, ...]] = get_args(IdentifierKind)
PROMPTS: Final = ("prompt_id", "parent_id")
SUFFIXES: Final = frozenset({".parquet", ".csv", ".jsonl"})
QUARANTINE: Final = "quarantine"
_DESCRIBING: Final = ("task", "source", "reason")
_PLACES: Final = {
    ("prompts", PROMPTS_FILE): "prompts",
    ("dataset", QUARANTINE_FILE): QUARANTINE,
    **{("dataset", split_file(split)): split for split in SPLITS},
}
"""Place of a prompt's row, by the kind and file of its table."""


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
    place: str
    """`prompts`, the name of a split, or `quarantine`."""


@dataclass(frozen=True)
class IdentifiedTable:
    """Identifiers in the rows of one file of an artifact."""

    record: ArtifactRecord
    file: str
    rows: pl.DataFrame
    """Its columns among `PEOPLE` and `PROMPTS`: text, null if a row has none. Prompts also say what they are of."""

    @property
    def of_prompts(self) -> bool:
        """Return whether the table is of prompts, whose customer_id is a person's and no order's customer."""
        return "prompt_id" in self.rows.columns


class Identities:
    """Identifiers in all tables of the artifacts of some kinds; equal files are read once."""

    def __init__(self, inventory: Inventory, kinds: Collection[ArtifactKind] = get_args(ArtifactKind)) -> None:
        """Read the tables; those that cannot be read are listed apart."""
        read: dict[str, pl.DataFrame] = {}
        self.tables: list[IdentifiedTable] = []
        self.unread: list[tuple[str, Path]] = []
        """The sha256 of the artifact, and the file."""
        for record in inventory.records.values():
            for name, digest in record.files.items() if record.kind in kinds else ():
                path = inventory.folder(record.sha256) / name
                if path.suffix not in SUFFIXES:
                    continue
                try:
                    read[digest] = rows = read[digest] if digest in read else _identifiers(path)
                except (OSError, PolarsError):
                    self.unread.append((record.sha256, path))
                    continue
                if rows.width:
                    self.tables.append(IdentifiedTable(record, name, rows))

    def pairs(self, column: str, other: str) -> pl.DataFrame:
        """Return the distinct pairs of two columns in the shop's own tables; none of a prompt."""
        both = list(dict.fromkeys((column, other)))
        of_shop = {id(each.rows): each.rows for each in self.tables if not each.of_prompts}.values()
        found = [rows.select(both) for rows in of_shop if set(both) <= set(rows.columns)]
        return pl.concat([pl.DataFrame(schema=dict.fromkeys(both, pl.String)), *found]).unique(maintain_order=True)

    def looked_up(self, column: str, values: Collection[str], wanted: str) -> set[str]:
        """Return the values of the column `wanted` in the shop's rows whose `column` has one of the values."""
        found = self.pairs(column, wanted).filter(pl.col(column).is_in(sorted(values)))
        return set(found[wanted].drop_nulls())

    def placed(self, condition: pl.Expr) -> list[PlacedRow]:
        """Return the rows of prompts, in all tables of prompts and datasets, that satisfy a condition."""
        return [PlacedRow(**row) for row in self._placed.filter(condition).iter_rows(named=True)]

    def with_kin(self, rows: Sequence[PlacedRow]) -> list[PlacedRow]:
        """Return rows with those of their paraphrases, and of the prompts that they paraphrase."""
        known = {row.prompt_id for row in rows}
        parents = {row.parent_id for row in rows if row.parent_id is not None}
        related = pl.col("parent_id").is_in(sorted(known)) | pl.col("prompt_id").is_in(sorted(known | parents))
        return list(dict.fromkeys([*rows, *self.placed(related)]))

    @cached_property
    def _placed(self) -> pl.DataFrame:
        columns = ("prompt_id", *PEOPLE[1:], "parent_id", *_DESCRIBING, "artifact", "place")
        found = [pl.DataFrame(schema=dict.fromkeys(columns, pl.String))]
        found += [
            table.rows.with_columns(artifact=pl.lit(table.record.sha256), place=pl.lit(place))
            for table in self.tables
            if (place := _PLACES.get((table.record.kind, table.file))) is not None
        ]
        return pl.concat(found, how="diagonal").select(columns)


def _identifiers(path: Path) -> pl.DataFrame:
    if path.suffix == ".jsonl":
        # Only these fields are read; the others may differ from line to line.
        rows = pl.read_ndjson(path, schema=dict.fromkeys((*PEOPLE, *PROMPTS), pl.String))
        return rows.select(column.name for column in rows if column.null_count() < rows.height)
    scanned = pl.scan_csv(path, infer_schema=False) if path.suffix == ".csv" else pl.scan_parquet(path, glob=False)
    names = scanned.collect_schema().names()
    # The rest of a row is a shopper's words, and is not read.
    wanted = {*PEOPLE, *PROMPTS, *(_DESCRIBING if "prompt_id" in names else ())}
    return scanned.select(pl.col([name for name in names if name in wanted]).cast(pl.String)).collect()
