import polars as pl
import pytest

from schemas.errors import InputError
from tasks.synthesize.own.cells import ColumnCells, DateOrder, date_order


def cells(*texts: str | None) -> ColumnCells:
    return ColumnCells(pl.Series(texts, dtype=pl.String), "pedidos.csv: column 'x'", lines=False, are_numbers=False)


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


def test_the_order_that_was_given_decides_dates_that_could_be_two() -> None:
    assert date_order([cells("03/04/2025", None)], "month-first") == "month-first"
