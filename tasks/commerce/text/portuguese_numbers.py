"""Brazilian number notation: 1.234,56, R$ 12.345, 8,2%."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

_NUMBER: Final = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?(?!\d)|\d+(?:[.,]\d+)?", re.ASCII)
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", re.ASCII)
MAX_DIGITS: Final = 15
"""Longer runs of digits are no amounts, and a float would not hold them."""


def numbers_in(text: str) -> list[float]:
    """Return the numbers of a text in order; 12.345 is twelve thousand, 4,5 and 4.5 are four and a half."""
    return [value_of(written) for written in _NUMBER.findall(text) if len(written) <= MAX_DIGITS]


def numbers_among(words: Iterable[str]) -> list[float]:
    """Return the numbers among a text's words, in order."""
    numbers: list[float] = []
    for word in words:
        # Digits sort before letters: one comparison skips most words.
        if word < "a":
            numbers += numbers_of(word)
    return numbers


def numbers_of(word: str) -> tuple[float, ...]:
    """Return the numbers in one of a text's words; results for short ones are cached."""
    return _numbers_of(word) if len(word) <= MAX_DIGITS else tuple(numbers_in(word))


@lru_cache(maxsize=16_384)
def _numbers_of(word: str) -> tuple[float, ...]:
    return tuple(numbers_in(word))


@lru_cache(maxsize=4_096)
def numbers_given(prompt: str) -> frozenset[float]:
    """Return a prompt's numbers; cached, as each prompt has many answers."""
    return frozenset(numbers_in(prompt))


def value_of(written: str) -> float:
    """Return the value of one written number, such as `1.234,5`."""
    if _THOUSANDS.fullmatch(written):
        written = written.replace(".", "")
    return float(written.replace(",", "."))


def decimal(value: float, places: int = 1) -> str:
    """Format a number with a decimal comma and dots between the thousands."""
    return f"{value:,.{places}f}".translate(str.maketrans(",.", ".,"))


def percent(share: float) -> str:
    """Format a share in [0, 1] as a percentage with one decimal."""
    return f"{decimal(100 * share)}%"


def reais(value: float) -> str:
    """Format an amount in whole reais."""
    return f"R$ {decimal(value, 0)}"
