"""Tables of all artifacts whose rows carry identifiers: of customer, order, review or prompt."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemas.artifact import ArtifactRecord
from tasks.lineage.store.inventory import Inventory

if TYPE_CHECKING:
    import polars as pl

PEOPLE: Final = ("customer_unique_id", "customer_id", "order_id", "review_id")
PROMPTS: Final = ("prompt_id", "parent_id")
SUFFIXES: Final = frozenset({".parquet", ".csv", ".jsonl"})


@dataclass(frozen=True)
class IdentifiedTable:
    """Identifiers in the rows of one file of an artifact."""

    record: ArtifactRecord
    """The artifact."""
    file: str
    """The file, by its path in the artifact."""
    rows: "pl.DataFrame"
    """Its columns among `PEOPLE` and `PROMPTS`: text, null if a row has none."""


def read_identified_tables(inventory: Inventory) -> tuple[list[IdentifiedTable], list[tuple[str, Path]]]:
    """Read the identifiers of all tables of all artifacts with a record; duplicate content is read once.

    Returns:
        The tables with identifiers, and each unreadable file, after the sha256 of its artifact.
    """
    from polars.exceptions import PolarsError

    read: dict[str, pl.DataFrame] = {}
    tables: list[IdentifiedTable] = []
    unread: list[tuple[str, Path]] = []
    for record in inventory.records.values():
        for name, digest in record.files.items():
            path = inventory.folder(record.sha256) / name
            if path.suffix not in SUFFIXES:
                continue
            if digest not in read:
                try:
                    read[digest] = _identifiers(path)
                except (OSError, PolarsError):
                    unread.append((record.sha256, path))
                    continue
            if read[digest].width:
                tables.append(IdentifiedTable(record, name, read[digest]))
    return tables, unread


def _identifiers(path: Path) -> "pl.DataFrame":
    import polars as pl

    if path.suffix == ".jsonl":
        # Only these fields are read; the others may differ from line to line.
        rows = pl.read_ndjson(path, schema=dict.fromkeys((*PEOPLE, *PROMPTS), pl.String))
        return rows.select(column.name for column in rows if column.null_count() < rows.height)
    scanned = pl.scan_csv(path, infer_schema=False) if path.suffix == ".csv" else pl.scan_parquet(path, glob=False)
    present = [name for name in scanned.collect_schema().names() if name in {*PEOPLE, *PROMPTS}]
    return scanned.select(pl.col(present).cast(pl.String)).collect()
