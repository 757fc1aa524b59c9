"""Parquet files written in pieces, so that a table may be larger than memory."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetWriter

ROWS_PER_GROUP: Final = 10_000
"""Rows of each row group but the last, however large the pieces are."""


class ParquetTable:
    """A table that grows in pieces."""

    def __init__(self, writer: "ParquetWriter", columns: Mapping[str, type[pl.DataType]]) -> None:
        """Use `open_parquet` instead."""
        self._writer = writer
        self._waiting = pl.DataFrame(schema=columns)

    def add(self, rows: pl.DataFrame) -> None:
        """Append rows; columns that are not in the table are dropped."""
        self._waiting = pl.concat([self._waiting, rows.select(self._waiting.columns)])
        whole = self._waiting.height // ROWS_PER_GROUP * ROWS_PER_GROUP
        self._write(self._waiting.head(whole))
        self._waiting = self._waiting.tail(self._waiting.height - whole)

    def flush(self) -> None:
        """Write the rows that wait for a full group."""
        self._write(self._waiting)
        self._waiting = self._waiting.clear()

    def _write(self, rows: pl.DataFrame) -> None:
        for group in rows.iter_slices(ROWS_PER_GROUP):
            # With polars: pyarrow itself would import pandas for it.
            self._writer.write_table(group.to_arrow(compat_level=pl.CompatLevel.oldest()))


@contextmanager
def open_parquet(path: Path, columns: Mapping[str, type[pl.DataType]]) -> Iterator[ParquetTable]:
    """Write a parquet file in pieces; equal rows in equal order give equal bytes, whatever the pieces."""
    from pyarrow.parquet import ParquetWriter

    schema = pl.DataFrame(schema=columns).to_arrow(compat_level=pl.CompatLevel.oldest()).schema
    with path.open("wb") as file, ParquetWriter(file, schema, compression="zstd", write_statistics=False) as writer:
        table = ParquetTable(writer, columns)
        yield table
        table.flush()
