"""Telephones and other numbers in words: `onze nove oito sete meia cinco quatro três dois um zero`."""

import re
from itertools import pairwise
from typing import Final

from tasks.personal_data.detectors.context import Around, Found, Kind
from tasks.personal_data.detectors.phones import is_phone
from tasks.personal_data.detectors.taxpayers import is_cpf

_UNITS: Final = {
    "zero": 0, "um": 1, "uma": 1, "hum": 1, "dois": 2, "duas": 2, "três": 3, "tres": 3, "quatro": 4, "cinco": 5,
    "seis": 6, "meia": 6, "sete": 7, "oito": 8, "nove": 9,
}  # fmt: skip
_TEENS: Final = {
    "dez": 10, "onze": 11, "doze": 12, "treze": 13, "catorze": 14, "quatorze": 14, "quinze": 15, "dezesseis": 16,
    "dezessete": 17, "dezoito": 18, "dezenove": 19,
}  # fmt: skip
_TENS: Final = {
    "vinte": 20, "trinta": 30, "quarenta": 40, "cinquenta": 50, "sessenta": 60, "setenta": 70, "oitenta": 80,
    "noventa": 90,
}  # fmt: skip
_HUNDREDS: Final = {
    "cento": 100, "duzentos": 200, "trezentos": 300, "quatrocentos": 400, "quinhentos": 500, "seiscentos": 600,
    "setecentos": 700, "oitocentos": 800, "novecentos": 900,
}  # fmt: skip
NUMBER_WORDS: Final = {**_UNITS, **_TEENS, **_TENS, **_HUNDREDS, "mil": 1000}
_WORD: Final = rf"(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
_BETWEEN: Final = r"(?:[ \t\n,.;:/()-]{1,3}|(?: e | tra[cç]o | ponto | h[ií]fen | ddd ))"
_ITEM: Final = rf"(?:{_WORD}|\d{{1,9}})"
_RUN: Final = re.compile(
    rf"(?<![^\W_])(?:\(?(?:ddd )?\d{{1,5}}{_BETWEEN}){{0,4}}{_WORD}(?:{_BETWEEN}{_ITEM}){{2,29}}(?![^\W_])"
)
_CUES: Final = re.compile(
    "zero|[ei]nta|vinte|[no]ze|[ei]n?ze|cento|dois|duas|tr[eê]s|quatro|cinco|seis|meia|sete|oito|nove"
)
_PART: Final = re.compile(rf"{_WORD}(?![^\W_])|\d+|(?<= )e(?= )")
_LABELS: Final[tuple[Kind, ...]] = ("CPF", "CNPJ", "CEP")
_FEWEST_DIGITS: Final = 8
_MOST_DIGITS: Final = 14
_FEWEST_UNITS: Final = 3
_OF_A_CARD: Final = 16
_OF_A_MOBILE: Final = 11


def find_spelled(text: str) -> list[Found]:
    """Find numbers of at least eight digits of which some are words."""
    found: list[Found] = []
    if not _CUES.search(text):
        return found
    for match in _RUN.finditer(text):
        kind = _kind_of(match)
        if kind is not None:
            start = match.start() + (match[0][0] == "(" and ")" not in match[0])
            found.append((start, match.end(), kind))
    return found


def _kind_of(match: re.Match[str]) -> Kind | None:
    digits, units = _read(match[0])
    around = Around(match)
    is_mobile = len(digits) == _OF_A_MOBILE and is_phone(digits)
    is_told = around.label == "TELEFONE" and around.leads and (len(digits) > _FEWEST_DIGITS or digits[:1] > "1")
    is_right = units >= _FEWEST_UNITS or is_cpf(digits) or (is_mobile and units > 0) or is_told
    is_number = _FEWEST_DIGITS <= len(digits) <= _OF_A_CARD and is_right and not _counts(digits)
    if around.is_order or not is_number:
        return None
    if is_cpf(digits) or not around.labels.isdisjoint(_LABELS):
        return next((kind for kind in _LABELS if kind in around.labels), "CPF")
    if len(digits) > _MOST_DIGITS:
        return "CARTAO" if len(digits) == _OF_A_CARD else None
    is_whole = is_phone(digits) if len(digits) in {10, 11} else (len(digits) == 9 and digits[0] == "9")
    return "TELEFONE" if is_whole or around.label == "TELEFONE" or units > len(digits) // 2 else None


def _read(text: str) -> tuple[str, int]:
    """Return the digits of a number in words, and how many of its words are single digits."""
    numbers: list[str] = []
    units = least = 0
    joins = False
    for part in _PART.findall(text):
        if part == "e":
            joins = True
            continue
        value = int(part) if part.isdigit() else NUMBER_WORDS[part]
        units += part in _UNITS
        if part == "mil":
            numbers[-1:] = [f"{numbers[-1]}000" if numbers else "1000"]
            joins, least = True, 1_000
            continue
        if joins and 0 < value < least:
            numbers[-1] = str(int(numbers[-1]) + value)
        else:
            numbers.append(part if part.isdigit() else str(value))
        joins = False
        least = 10 if part in _TENS else 100 if part in _HUNDREDS else 0
    return "".join(numbers), units


def _counts(digits: str) -> bool:
    """Return whether somebody counts: `um, dois, três, quatro, cinco, seis, sete, oito`."""
    steps = {int(later) - int(sooner) for sooner, later in pairwise(digits)}
    return len(steps) == 1
