"""Numbers as Brazilians write them, `R$ 1.234,56`, or as programs do, `1234.56`: one way for a whole column."""

import re
from collections.abc import Callable
from typing import Final, Literal

import polars as pl

from schemas.errors import InputError
from schemas.tables.table_check import FIRST_ROW

Decimals = Literal["comma", "point"]

_MARKS: Final = {"comma": ",", "point": "."}
_REAIS: Final = r"^(-?)\s*R\$\s*"
_WHOLE: Final = r"^-?\d+$"
# 1,234 is a decimal in Brazil and a thousand in English, 1.234 the other way around; 0,123 and 1234,567 are decimals.
_EITHER: Final = r"^-?[1-9]\d{0,2}%s\d{3}$"


def _pattern(decimal: str) -> str:
    grouped, point = re.escape("." if decimal == "," else ","), re.escape(decimal)
    return rf"^-?(?:\d+|[1-9]\d{{0,2}}(?:{grouped}\d{{3}})+)(?:{point}\d+)?$"


def _row(number: int) -> str:
    return f"row {number + FIRST_ROW}"


def read_numbers(
    column: pl.Series, what: str, decimals: Decimals | None = None, row: Callable[[int], str] = _row
) -> pl.Series:
    """Return a column of texts as numbers; null stays null. A refusal names the row.

    Args:
        column: Numbers, perhaps with `R$`; all with a decimal comma (dots between thousands) or all with a decimal
            point (commas between thousands). Which, must be seen from at least one of them.
        what: The file and column, for error messages.
        decimals: How they are written, where that is known.
        row: Returns how a row, counted from 0, is called in the file; without it, the header is row 1.
    """
    texts = column.str.strip_chars().str.replace(_REAIS, "${1}")
    mark = _MARKS[decimals] if decimals else _mark(texts, what, row)
    faulty = (~texts.str.contains(_pattern(mark))).arg_true()
    if len(faulty):
        sign = f" with a decimal {decimals}" if decimals else ""
        raise InputError(f"{what}: {row(faulty[0])} is no number{sign}; correct it, or leave it empty")
    plain = texts.str.replace_all("." if mark == "," else ",", "", literal=True)
    return plain.str.replace(",", ".", literal=True).cast(pl.Float64)


def _mark(texts: pl.Series, what: str, row: Callable[[int], str]) -> str:
    """Return the decimal sign that the numbers show; the point where none has one."""
    fits = {mark: texts.str.contains(_pattern(mark)) for mark in ",."}
    both = texts.str.contains(_EITHER % ",") | texts.str.contains(_EITHER % r"\.")
    by_comma, by_point = ((fits[mark] & ~both & ~texts.str.contains(_WHOLE)).arg_true() for mark in ",.")
    if len(by_comma) and len(by_point):
        raise InputError(
            f"{what}: {row(by_comma[0])} has a decimal comma and {row(by_point[0])} a decimal point; write all in one "
            "way"
        )
    if not len(by_comma) and not len(by_point) and both.any():
        raise InputError(
            f"{what}: {row(both.arg_true()[0])} is thousands or a decimal, and no other row tells which; "
            'say decimals = "comma" or "point" in the column map, or write it with two decimals'
        )
    return "," if len(by_comma) else "."
