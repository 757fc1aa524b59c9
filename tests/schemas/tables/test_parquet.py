from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from schemas.tables.parquet import ROWS_PER_GROUP, open_parquet

COLUMNS = {"name": pl.String, "row": pl.UInt32}


def write(path: Path, rows: pl.DataFrame, size: int) -> bytes:
    with open_parquet(path, COLUMNS) as table:
        for piece in rows.iter_slices(size):
            table.add(piece)
    return path.read_bytes()


@pytest.mark.parametrize("count", [0, 1, ROWS_PER_GROUP, 2 * ROWS_PER_GROUP + 3])
def test_the_pieces_decide_nothing(count: int, tmp_path: Path) -> None:
    rows = pl.DataFrame({"name": [f"n{row}" for row in range(count)], "row": range(count)}, schema=COLUMNS)
    written = {write(tmp_path / f"{size}.parquet", rows.with_columns(more=1), size) for size in (999, 7000, 50_000)}
    assert len(written) == 1
    assert pl.read_parquet(tmp_path / "999.parquet").equals(rows)
    assert pq.ParquetFile(tmp_path / "999.parquet").num_row_groups == -(-count // ROWS_PER_GROUP)


def test_another_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pl.exceptions.SchemaError), open_parquet(tmp_path / "table.parquet", COLUMNS) as table:
        table.add(pl.DataFrame({"name": [1], "row": [1]}))
