"""Brazilian number notation: 1.234,56, R$ 12.345, 8,2%."""

import re
from typing import Any, Final

_NUMBER: Final = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?(?!\d)|\d+(?:[.,]\d+)?", re.ASCII)
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", re.ASCII)
MAX_DIGITS: Final = 15
"""Longer runs of digits are no amounts, and a float would not hold them."""


def numbers_in(text: str) -> list[float]:
    """Return the numbers of a text in order; 12.345 is twelve thousand, 4,5 and 4.5 are four and a half."""
    return [value_of(written) for written in _NUMBER.findall(text) if len(written) <= MAX_DIGITS]


def value_of(written: str) -> float:
    """Return the value of one written number, such as `1.234,5`."""
    if _THOUSANDS.fullmatch(written):
        written = written.replace(".", "")
    return float(written.replace(",", "."))


def read_number(given: Any) -> Any:
    """Return the number of a typed text, such as `R$ 1.234,50`, for a field to check; anything else as it is."""
    if not isinstance(given, str) or len(given) > MAX_DIGITS:
        return given
    try:
        return value_of(given.removeprefix("R$").strip())
    except ValueError:
        return given


def decimal(value: float, places: int = 1) -> str:
    """Format a number with a decimal comma and dots between the thousands."""
    return f"{value:,.{places}f}".translate(str.maketrans(",.", ".,"))


def percent(share: float) -> str:
    """Format a share in [0, 1] as a percentage with one decimal."""
    return f"{decimal(100 * share)}%"


def reais(value: float) -> str:
    """Format an amount in whole reais."""
    return f"R$ {decimal(value, 0)}"
