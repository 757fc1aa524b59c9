"""Numbers as Brazilians write them, `R$ 1.234,56`, or as programs do, `1234.56`: one way for a whole column."""

import re
from typing import Final

import polars as pl

from schemas.errors import InputError
from schemas.store.faults import FIRST_ROW

_REAIS: Final = r"^(-?)\s*R\$\s*"
_WHOLE: Final = r"^-?\d+$"
# 1,234 is a decimal in Brazil and a thousand in English, 1.234 the other way around; 0,123 and 1234,567 are decimals.
_EITHER: Final = r"^-?[1-9]\d{0,2}%s\d{3}$"


def _pattern(decimal: str) -> str:
    grouped, point = re.escape("." if decimal == "," else ","), re.escape(decimal)
    return rf"^-?(?:\d+|[1-9]\d{{0,2}}(?:{grouped}\d{{3}})+)(?:{point}\d+)?$"


def read_numbers(column: pl.Series, what: str) -> pl.Series:
    """Return a column of texts as numbers; null stays null.

    Args:
        column: Numbers, perhaps with `R$`; all with a decimal comma (dots between thousands) or all with a decimal
            point (commas between thousands). Which, must be seen from at least one of them.
        what: The file and column, for error messages.

    Raises:
        InputError: A text is no number, or all could be read in both ways; names the row, the header being row 1.
    """
    texts = column.str.strip_chars().str.replace(_REAIS, "${1}")
    with_comma, with_point = (texts.str.contains(_pattern(mark)) for mark in ",.")
    both = texts.str.contains(_EITHER % ",") | texts.str.contains(_EITHER % r"\.")
    undecided = both | texts.str.contains(_WHOLE)
    by_comma, by_point = ((fits & ~undecided).arg_true() for fits in (with_comma, with_point))
    if len(by_comma) and len(by_point):
        raise InputError(
            f"{what}: row {by_comma[0] + FIRST_ROW} has a decimal comma and row {by_point[0] + FIRST_ROW} a decimal "
            "point; write all in one way"
        )
    if not len(by_comma) and not len(by_point) and both.any():
        raise InputError(
            f"{what}: row {both.arg_true()[0] + FIRST_ROW} is thousands or a decimal, and no other row tells which; "
            "write it with two decimals, or without a mark between thousands"
        )
    decimal = "," if len(by_comma) else "."
    faulty = (~(with_comma if decimal == "," else with_point)).arg_true()
    if len(faulty):
        raise InputError(f"{what}: row {faulty[0] + FIRST_ROW} is no number; correct it, or leave it empty")
    plain = texts.str.replace_all("." if decimal == "," else ",", "", literal=True)
    return plain.str.replace(",", ".", literal=True).cast(pl.Float64)
