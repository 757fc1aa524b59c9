"""The tables of all artifacts whose rows say whom they are of: by customer, order or review, or by prompt."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

from schemas.artifact import ArtifactKind, ArtifactRecord
from tasks.lineage.artifacts import ArtifactStore

if TYPE_CHECKING:
    import polars as pl

PEOPLE: Final = ("customer_unique_id", "customer_id", "order_id", "review_id")
PROMPTS: Final = ("prompt_id", "parent_id")
SUFFIXES: Final = frozenset({".parquet", ".csv", ".jsonl"})


@dataclass(frozen=True)
class IdentifiedTable:
    """The identifiers in the rows of one file of an artifact."""

    record: ArtifactRecord
    """The artifact."""
    file: str
    """The file, by its path in the artifact."""
    rows: "pl.DataFrame"
    """Of its columns those of `PEOPLE` and `PROMPTS` that it has: text, null where a row has none."""


def all_records(store: ArtifactStore) -> tuple[ArtifactRecord, ...]:
    """Return the records of all artifacts that can be read, the oldest first."""
    records = (record for kind in get_args(ArtifactKind) for record in store.records(kind))
    return tuple(sorted(records, key=lambda record: record.created_at))


def read_identified_tables(
    store: ArtifactStore, records: Iterable[ArtifactRecord]
) -> tuple[list[IdentifiedTable], list[str]]:
    """Read the identifiers of all tables of some artifacts; a content that several hold is read once.

    Returns:
        The tables that have any, and a sentence for each file that cannot be read.
    """
    from polars.exceptions import PolarsError

    read: dict[str, pl.DataFrame] = {}
    tables: list[IdentifiedTable] = []
    notes: list[str] = []
    for record in records:
        for name, digest in record.files.items():
            path = store.path(record.sha256) / name
            if path.suffix not in SUFFIXES:
                continue
            if digest not in read:
                try:
                    read[digest] = _identifiers(path)
                except (OSError, PolarsError):
                    notes.append(f"{path} cannot be read, so nobody is looked for in it")
                    continue
            if read[digest].width:
                tables.append(IdentifiedTable(record, name, read[digest]))
    return tables, notes


def _identifiers(path: Path) -> "pl.DataFrame":
    import polars as pl

    if path.suffix == ".jsonl":
        # Only these fields are read; the others may differ from line to line.
        rows = pl.read_ndjson(path, schema=dict.fromkeys((*PEOPLE, *PROMPTS), pl.String))
        return rows.select(column.name for column in rows if column.null_count() < rows.height)
    scanned = pl.scan_csv(path, infer_schema=False) if path.suffix == ".csv" else pl.scan_parquet(path, glob=False)
    present = [name for name in scanned.collect_schema().names() if name in {*PEOPLE, *PROMPTS}]
    return scanned.select(pl.col(present).cast(pl.String)).collect()
