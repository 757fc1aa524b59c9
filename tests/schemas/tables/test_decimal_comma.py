"""Numbers of a column are read in the one way that it shows, and refused where it shows two or none."""

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import InputError
from schemas.tables.delimited import read_numbers


def read(*texts: str | None) -> list[float | None]:
    return read_numbers(pl.Series("preço", texts, pl.String), "loja.csv: column 3").to_list()


@given(cents=st.lists(st.integers(-(10**9), 10**9), min_size=1), mark=st.sampled_from(",."), grouped=st.booleans())
def test_amounts_come_back_as_they_were_written(cents: list[int], mark: str, grouped: bool) -> None:
    amounts = [number / 100 for number in cents]
    english = [f"{amount:,.2f}" if grouped else f"{amount:.2f}" for amount in amounts]
    texts = [text.translate(str.maketrans(",.", ".,")) if mark == "," else text for text in english]
    assert read(*texts) == amounts


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (("R$ 1.234,56", "-R$\u00a02,00", None), [1234.56, -2.0, None]),
        (("1.234", "12,5"), [1234.0, 12.5]),
        (("1,234", "12,5"), [1.234, 12.5]),
        (("1,234", "12.5"), [1234.0, 12.5]),
        (("1.234.567",), [1234567.0]),
    ],
)
def test_one_number_tells_how_the_others_are_written(
    texts: tuple[str | None, ...], numbers: list[float | None]
) -> None:
    assert read(*texts) == numbers


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        (("10", "1.234"), "row 3 is thousands or a decimal, and no other row tells which; say decimals = "),
        (("1.234", "1,234"), "row 2 is thousands or a decimal"),
        (("12,5", "12.5"), "row 2 has a decimal comma and row 3 a decimal point; write all in one way"),
        (("12,5", "muito"), "row 3 is no number; correct it, or leave it empty"),
        (("1e5",), "row 2 is no number"),
    ],
)
def test_ambiguous_numbers_are_refused_by_row(texts: tuple[str, ...], fault: str) -> None:
    with pytest.raises(InputError, match=rf"\Aloja\.csv: column 3: {re.escape(fault)}"):
        read(*texts)
