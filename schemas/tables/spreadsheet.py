"""Sheets as spreadsheets write them: cells that none computes, and the dialect in which a file is written again."""

import csv
import io
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from schemas.tables.delimited import DELIMITERS, DelimitedText

# Signs that begin a formula, the sign of minus too, and texts that are a number, a date or a truth value.
_CHANGED: Final = re.compile(
    r"[=+\-@\u2212]|(?=[^\n]*\d)[\d.,:/%eER$ \-]+\Z|(?:true|false|verdadeiro|falso)\s*\Z", re.IGNORECASE
)
# Categories of characters that show nothing by themselves, and those of other categories that are empty.
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cn", "Me", "Mn", "Zl", "Zp", "Zs"})
_FILLERS: Final = frozenset("\u115f\u1160\u2800")


@dataclass(frozen=True)
class Dialect:
    """How a file was written, by which it is written again."""

    delimiter: str
    encoding: str
    """`utf-8`, `utf-8-sig` (with a byte order mark) or `cp1252`."""
    line_end: str


def dialect_of(source: DelimitedText, delimiter: str) -> Dialect:
    """Return a file's dialect with a delimiter; its line ends are that of its first row."""
    lines = io.StringIO(source.text, newline="")
    next(csv.reader(lines, delimiter=delimiter), None)
    end = re.search(r"(?:\r\n|\r|\n)\Z", source.text[: lines.tell()])
    return Dialect(delimiter, source.encoding, end[0] if end else "\r\n")


def header_of(source: DelimitedText, known: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter under which the header has most of some known columns, and the header."""
    headers: dict[str, tuple[str, ...]] = {}
    faults = []
    for delimiter in DELIMITERS:
        try:
            headers[delimiter] = tuple(next((cells for _, cells in source.rows(delimiter) if cells), ()))
        except ValueError as error:
            faults.append(error)
    if not headers:
        raise faults[-1]
    best = max(headers, key=lambda delimiter: len({*headers[delimiter]} & {*known}))
    return best, headers[best]


def as_cell(text: str) -> str:
    """Return a text as a cell that a spreadsheet leaves alone: behind an apostrophe where it would compute it."""
    return f"'{text}" if _is_changed(text.lstrip("'")) else text


def of_cell(cell: str) -> str:
    """Return the text of a cell without apostrophes that only keep a spreadsheet from computing it."""
    text = cell.lstrip("'")
    return text if _is_changed(text) else cell


def _is_changed(text: str) -> bool:
    """Return whether a spreadsheet may change a text: it may drop what shows nothing, and take wide signs for usual."""
    if text.startswith(("\t", "\r", "\n")):
        return True
    # Not composed: `=` and a combining stroke would be another sign.
    plain = unicodedata.normalize("NFKD", text)
    seen = (n for n, each in enumerate(plain) if each not in _FILLERS and unicodedata.category(each) not in _INVISIBLE)
    return _CHANGED.match(plain, next(seen, len(plain))) is not None
