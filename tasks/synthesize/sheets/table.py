"""The table in rows that a shop exported: its header below title lines, its names, and its last line of totals."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

HEADER_WITHIN: Final = 30
"""Rows in which a header is looked for: titles, dates of the export and headings of groups stand above it."""
_NAMED: Final = 2 / 3  # Share of the columns that a header names; headings of groups of columns name fewer.
_VALUE: Final = re.compile(r"(?=.*\d)[\W\d]+")
"""A number, a date, a CPF or a telephone, none of which is a column's name."""
_EMAIL: Final = re.compile(r"\S+@\S+\.\S+")
_TOTALS: Final = re.compile(r"(?:(?:sub)?tota(?:l|is)(?: geral)?|soma)\s*:?", re.IGNORECASE)
_FIGURE: Final = re.compile(r"(?:R\$)?[\s\d.,%\-]+")

Row = Sequence[str | None]


@dataclass(frozen=True)
class FileRows:
    """Rows of a file."""

    texts: pl.DataFrame
    """The cells as texts; null where one is empty."""
    header: int = 1
    """Row of the header above the rows, from 1; 0 where the file has lines of JSON instead."""
    numbers: frozenset[str] = frozenset()
    """Columns whose cells were all numbers: a text such as "1.234" may be more than a thousand, a number is not."""
    notes: tuple[str, ...] = ()
    """Sentences on how the file was read, where that is not plain."""
    nested: Mapping[str, str] = field(default_factory=dict)
    """Columns that were left out, each with the nested values that it holds."""


def header_row(rows: Sequence[Row]) -> int | None:
    """Return the place of the first row that names the columns of those below it; None where none does."""
    top = [[_text(cell) for cell in row] for row in rows[: 2 * HEADER_WITHIN]]
    for place, names in enumerate(top[:HEADER_WITHIN]):
        below = [row for row in top[place + 1 :] if any(row)]
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


def sheet_of(rows: Sequence[Row], place: int, numbers: Collection[int] = ()) -> FileRows | None:
    """Return the table whose header has that place, from 0; None where no row is below it.

    The rows below it have as many cells, or none; `numbers` are the places of columns that are all numbers of the file.
    """
    header = [_text(cell) for cell in rows[place]]
    full = [number for number, row in enumerate(rows) if any(map(_text, row))]
    if full[-1] == place:
        return None
    below = [row or [None] * len(header) for row in rows[place + 1 : full[-1] + 1]]
    schema = [(str(number), pl.String) for number in range(len(header))]
    cells = pl.DataFrame(below, schema, orient="row").select(pl.all().replace("", None))
    notes = [f"the header is row {place + 1}, and what stands above it is left out"] if place else []
    names: dict[int, str] = {}
    for number, given in enumerate(header):
        if given or cells.to_series(number).null_count() < cells.height:
            name, copies = given or f"coluna {number + 1}", 1
            while name in names.values():
                copies += 1
                name = f"{given} ({copies})"
            names[number] = name
            if name != given:
                notes.append(f"column {number + 1} is called {name!r} here, for its name is another's or empty")
    cells = cells.select(pl.nth(number).alias(name) for number, name in names.items())
    named_numbers = frozenset(name for number, name in names.items() if number in numbers)
    return without_totals(FileRows(cells, place + 1, named_numbers, tuple(notes)))


def without_totals(sheet: FileRows) -> FileRows:
    """Return a sheet without a last line that sums the others up."""
    if sheet.texts.height == 1 or not is_totals(sheet.texts.row(-1)):
        return sheet
    return replace(sheet, texts=sheet.texts[:-1], notes=(*sheet.notes, "the last line, of totals, is left out"))


def is_totals(cells: Row) -> bool:
    """Return whether a row has `Total` in its first cell that is not empty, and only figures behind it."""
    first, *others = [text for cell in cells if (text := _text(cell))] or [""]
    return _TOTALS.fullmatch(first) is not None and len(others) + 1 < len(cells) and all(map(_FIGURE.fullmatch, others))


def _text(cell: str | None) -> str:
    return (cell or "").strip()


def _used(cells: Sequence[str]) -> int:
    """Return the number of cells up to the last that is not empty."""
    return max((number for number, cell in enumerate(cells, 1) if cell), default=0)
