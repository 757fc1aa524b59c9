import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.errors import InputError
from schemas.tables.delimited import Decimals
from tasks.synthesize.own.cells import ColumnCells, DateOrder, as_identifiers, as_moments, as_numbers, date_order
from tasks.synthesize.own.rows import read_rows
from tests.cases import cases_of

CASES = cases_of(__file__)


def cells(*texts: str | None) -> ColumnCells:
    return ColumnCells(pl.Series(texts, dtype=pl.String), "pedidos.csv: column 'x'", header=1, are_numbers=False)


@pytest.mark.parametrize(
    ("given", "date", "first"), [("day-first", "01/31/2025", "month"), ("month-first", "31/01/2025", "day")]
)
def test_rows_that_contradict_the_order_that_was_given_are_refused(given: DateOrder, date: str, first: str) -> None:
    with pytest.raises(InputError) as caught:
        date_order([cells("03/04/2025"), cells("05/06/2025", date)], given)
    assert str(caught.value) == (
        f"pedidos.csv: column 'x': row 3 has the {first} first, and the column map says dates = \"{given}\"; correct "
        "one of them"
    )


@pytest.mark.parametrize("text", CASES["a_date_with_the_month_in_words_is_that_moment"])
def test_a_date_with_the_month_in_words_is_that_moment(text: str) -> None:
    moments = as_moments(cells(text, "03/03/2025 09:00"), "day-first")
    assert moments.dt.strftime("%Y-%m-%d %H:%M").to_list() == ["2025-03-03 09:00"] * 2


@pytest.mark.parametrize("text", ["-", " – ", "—", "--", "N/A", "n/d", "#N/D", "NULL", "não informado", "0000-00-00"])
def test_a_cell_that_says_that_it_is_empty_is(text: str) -> None:
    dates = as_moments(cells("2025-01-31", text), "day-first")
    assert dates.dt.strftime("%Y-%m-%d").to_list() == ["2025-01-31", None]
    assert as_numbers(cells("1,50", text), None).to_list() == [1.5, None]
    assert as_identifiers(cells("7", text)).to_list() == ["7", None]


@pytest.mark.parametrize(("text", "order"), [("31/01/2025", "day-first"), ("01/31/2025", "month-first")])
def test_days_and_months_are_read_in_the_order_that_the_file_shows(text: str, order: DateOrder) -> None:
    assert date_order([cells(text)], None) == order
    assert as_moments(cells(text), order).dt.strftime("%Y-%m-%d").to_list() == ["2025-01-31"]


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
    ("values", "decimals", "numbers"), CASES["texts_are_read_as_people_write_numbers_and_numbers_as_they_are"]
)
def test_texts_are_read_as_people_write_numbers_and_numbers_as_they_are(
    tmp_path: Path, ending: str, values: list[Any], decimals: Decimals | None, numbers: list[float | None]
) -> None:
    assert as_numbers(column(tmp_path, ending, values), decimals).to_list() == numbers


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_only_a_number_is_a_whole_one_without_its_zero_and_no_truth_value_is_one(tmp_path: Path, ending: str) -> None:
    assert as_identifiers(column(tmp_path, ending, [7.0, None])).to_list() == ["7", None]
    assert as_identifiers(column(tmp_path, ending, ["7.0", None])).to_list() == ["7.0", None]
    assert not column(tmp_path, "jsonl", [1, True]).are_numbers
