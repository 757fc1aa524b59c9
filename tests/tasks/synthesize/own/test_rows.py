import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.tables.delimited import Decimals
from tasks.synthesize.own.cells import ColumnCells, as_identifiers, as_numbers
from tasks.synthesize.own.rows import read_rows


def column(folder: Path, ending: str, values: list[Any]) -> ColumnCells:
    """Write values to a file and read them back, as the files of a column map are."""
    path = folder / f"itens.{ending}"
    if ending == "parquet":
        pl.DataFrame({"preco": values}).write_parquet(path)
    else:
        path.write_text("".join(json.dumps({"preco": value}) + "\n" for value in values), encoding="utf-8")
    rows = read_rows(path, ["preco"])
    return ColumnCells(rows.texts["preco"], "preco", rows.header, "preco" in rows.numbers)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("values", "decimals", "numbers"),
    [
        (["1.234", "899,90", None], None, [1234.0, 899.9, None]),
        (["1.234", "2.500"], "comma", [1234.0, 2500.0]),
        (["1.234", "2.500"], "point", [1.234, 2.5]),
        (["R$ 10,00", "R$ 1.234,56"], None, [10.0, 1234.56]),
        ([1.234, 1e-05, None], "comma", [1.234, 1e-05, None]),
        ([2, 3], None, [2.0, 3.0]),
    ],
)
def test_texts_are_read_as_people_write_numbers_and_numbers_as_they_are(
    tmp_path: Path, ending: str, values: list[Any], decimals: Decimals | None, numbers: list[float | None]
) -> None:
    assert as_numbers(column(tmp_path, ending, values), decimals).to_list() == numbers


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_only_a_number_is_a_whole_one_without_its_zero(tmp_path: Path, ending: str) -> None:
    assert as_identifiers(column(tmp_path, ending, [7.0, None])).to_list() == ["7", None]
    assert as_identifiers(column(tmp_path, ending, ["7.0", None])).to_list() == ["7.0", None]


def test_a_truth_value_is_no_number(tmp_path: Path) -> None:
    assert not column(tmp_path, "jsonl", [1, True]).are_numbers
