"""Text and JSON as the ground truths read them: apart from all that the rewards read with, so that none hides a fault.

No scorer imports this, and it imports nothing of theirs (the contracts of import-linter in `pyproject.toml`).
"""

import json
import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NoReturn

MAX_JSON: Final = 20_000  # Longest completion, in characters, that is read as JSON.
MAX_DIGITS: Final = 15

NUMBER: Final = r"[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?(?![0-9])|[0-9]+(?:[.,][0-9]+)?"
"""A number in Brazilian notation, or with a decimal point."""
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", re.ASCII)
_SPACES: Final = re.compile(r"[ \t\r\f\v\u00a0\u2000-\u200b\u202f]+")
_COMBINING: Final = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_DASHES: Final = {ord(dash): "-" for dash in "‐‑‒–—−"} | {ord(quote): "'" for quote in "’‘´`"}
_WORD: Final = re.compile(r"[^\W_]+")
_FENCED: Final = re.compile(r"\s*```(?:json)?[ \t]*\n(?P<inside>[^`]*)\n[ \t]*```\s*", re.IGNORECASE)


@cache
def read_data(file: str) -> Mapping[str, Any]:
    """Return what a TOML file of the repository holds; the same object each time."""
    return tomllib.loads((Path(__file__).resolve().parents[2] / file).read_text(encoding="utf-8"))


def fold(text: str) -> str:
    """Return a text in small letters without accents, with plain dashes and single blanks; line breaks are kept."""
    plain = unicodedata.normalize("NFKD", text.translate(_DASHES))
    return _SPACES.sub(" ", (plain if plain.isascii() else _COMBINING.sub("", plain)).lower())


def words(folded: str) -> list[str]:
    """Return the words and numbers of a folded text, in order."""
    return _WORD.findall(folded)


def value_of(written: str) -> float:
    """Return the value of one written number, such as `1.234,5`."""
    if _THOUSANDS.fullmatch(written):
        written = written.replace(".", "")
    return float(written.replace(",", "."))


def read_object(completion: str) -> dict[str, Any] | None:
    """Return the JSON object that a completion is, as a strict reader (RFC 8259) takes it; None if it is none.

    One code fence around the whole of it is taken away first, as any consumer does. Other text around it, a comment,
    NaN and a key given twice make it none: `json.loads` would stop there, or read one of two answers.
    """
    if len(completion) > MAX_JSON:
        return None
    fenced = _FENCED.fullmatch(completion)
    try:
        found = json.loads(
            fenced["inside"] if fenced else completion, object_pairs_hook=_distinct, parse_constant=_refuse
        )
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def shares_kept(claims: Sequence[Mapping[str, bool]]) -> dict[str, float]:
    """Return the share of the answers that keep each claim, and all of them (`all_kept`); nothing of no answer."""
    whole = [{**each, "all_kept": all(each.values())} for each in claims]
    return {name: fmean(each[name] for each in whole) for name in whole[0]} if whole else {}


def number_of(value: object) -> float | None:
    """Return a JSON number's value if it is finite; booleans and texts are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return float(value) if abs(value) < 10**MAX_DIGITS else None
    return value if isfinite(value) else None


def share_of(value: object) -> float | None:
    """Return a JSON number from 0 to 1."""
    number = number_of(value)
    return number if number is not None and 0 <= number <= 1 else None
