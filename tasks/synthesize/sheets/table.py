"""The table in rows that a shop exported: its header below title lines, its names, and its last line of totals."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

HEADER_WITHIN: Final = 30
"""Rows in which a header is looked for: titles, dates of the export and headings of groups stand above it."""
_LOOKED_AT_BELOW: Final = 20
_NAMED: Final = 2 / 3
"""Share of the columns that a header names; headings of groups of columns name fewer."""
_VALUE: Final = re.compile(r"(?=.*\d)[\W\d]+")
"""A number, a date, a CPF or a telephone, none of which is a column's name."""
_EMAIL: Final = re.compile(r"\S+@\S+\.\S+")
_TOTALS: Final = re.compile(r"(?:(?:sub)?tota(?:l|is)(?: geral)?|soma)\s*:?", re.IGNORECASE)
_FIGURE: Final = re.compile(r"(?:R\$)?[\s\d.,%\-]+")

Row = Sequence[str | None]


@dataclass(frozen=True)
class Sheet:
    """Rows of an export below its header."""

    cells: pl.DataFrame
    """The cells as texts; null where one is empty."""
    header: int = 1
    """Row of the header, from 1."""
    numbers: frozenset[str] = frozenset()
    """Columns whose cells were all numbers of the file, and no texts."""
    notes: tuple[str, ...] = ()
    """Sentences on how the file was read, where that is not plain."""


def header_row(rows: Sequence[Row]) -> int | None:
    """Return the place of the first row that names the columns of those below it; None where none does."""
    top = [[_text(cell) for cell in row] for row in rows[: HEADER_WITHIN + _LOOKED_AT_BELOW]]
    for place, names in enumerate(top[:HEADER_WITHIN]):
        below = [row for row in top[place + 1 :][:_LOOKED_AT_BELOW] if any(row)]
        if not below or not are_names(names):
            continue
        width = max(_used(names), *map(_used, below))
        # A title alone above a single column is followed by nothing.
        is_title = _used(names) == 1 and not any(top[place + 1])
        if sum(map(bool, names)) >= _NAMED * width and not is_title:
            return place
    return None


def are_names(cells: Sequence[str]) -> bool:
    """Return whether cells may be names of columns: without an e-mail address, and fewer than half are values."""
    values = sum(_VALUE.fullmatch(cell) is not None for cell in cells)
    return any(cells) and values < sum(map(bool, cells)) / 2 and not any(map(_EMAIL.fullmatch, cells))


def sheet_of(rows: Sequence[Row], place: int, numbers: Collection[int] = ()) -> Sheet | None:
    """Return the table whose header has that place; None where no row is below it.

    Args:
        rows: All rows of the file; below the header each has as many cells as it, or none.
        place: That of the header, from 0.
        numbers: Places of columns whose cells are all numbers of the file.
    """
    header = [_text(cell) for cell in rows[place]]
    end = len(rows)
    while end > place + 1 and not any(map(_text, rows[end - 1])):
        end -= 1
    if end == place + 1:
        return None
    below = [row or [None] * len(header) for row in rows[place + 1 : end]]
    schema = [(str(number), pl.String) for number in range(len(header))]
    cells = pl.DataFrame(below, schema, orient="row").select(pl.all().replace("", None))
    notes = [f"the header is row {place + 1}, and what stands above it is left out"] if place else []
    names: dict[int, str] = {}
    for number, name in enumerate(header):
        if not name and cells.to_series(number).null_count() == cells.height:
            continue
        names[number] = _free(name or f"coluna {number + 1}", names.values())
        if not name:
            notes.append(f"column {number + 1} has no name, and is {names[number]!r} here")
        elif names[number] != name:
            notes.append(f"column {number + 1} is another {name!r}, and is {names[number]!r} here")
    cells = cells.select(pl.nth(number).alias(name) for number, name in names.items())
    named_numbers = frozenset(name for number, name in names.items() if number in numbers)
    return without_totals(Sheet(cells, place + 1, named_numbers, tuple(notes)))


def without_totals(sheet: Sheet) -> Sheet:
    """Return a sheet without a last line that sums the others up."""
    if sheet.cells.height == 1 or not is_totals(sheet.cells.row(-1)):
        return sheet
    return replace(sheet, cells=sheet.cells[:-1], notes=(*sheet.notes, "the last line, of totals, is left out"))


def is_totals(cells: Row) -> bool:
    """Return whether a row has `Total` in its first cell that is not empty, and only figures behind it."""
    some = [text for cell in cells if (text := _text(cell))]
    is_named = 0 < len(some) < len(cells) and _TOTALS.fullmatch(some[0]) is not None
    return is_named and all(map(_FIGURE.fullmatch, some[1:]))


def _text(cell: str | None) -> str:
    return (cell or "").strip()


def _used(cells: Sequence[str]) -> int:
    """Return the number of cells up to the last that is not empty."""
    return max((number for number, cell in enumerate(cells, 1) if cell), default=0)


def _free(name: str, taken: Collection[str]) -> str:
    """Return a name that no other column has: `Estado`, `Estado (2)`."""
    number, free = 2, name
    while free in taken:
        number, free = number + 1, f"{name} ({number})"
    return free
