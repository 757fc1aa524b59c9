"""Sheets as shops export them, CSV and Excel: the header below title lines, its names, and a last line of totals."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Final
from zipfile import BadZipFile, ZipFile

import polars as pl

from schemas.errors import InputError
from schemas.tables.delimited import DELIMITERS, DelimitedText, read_delimited, read_text

HEADER_WITHIN: Final = 30
"""Rows in which a header is looked for: titles, dates of the export and headings of groups stand above it."""
_NAMED: Final = 2 / 3  # Share of the columns that a header names; headings of groups of columns name fewer.
_VALUE: Final = re.compile(r"(?=.*\d)[\W\d]+")
"""A number, a date, a CPF or a telephone, none of which is a column's name."""
_EMAIL: Final = re.compile(r"\S+@\S+\.\S+")
_TOTALS: Final = re.compile(r"(?:(?:sub)?tota(?:l|is)(?: geral)?|soma)\s*:?", re.IGNORECASE)
_FIGURE: Final = re.compile(r"(?:R\$)?[\s\d.,%\-]+")

ENDING: Final = ".xlsx"
_ENCRYPTED: Final = b"\xd0\xcf\x11\xe0"  # How a workbook with a password begins, and one of before 2007.
_BYTES_AT_ONCE: Final = 2**20
_SHEET: Final = re.compile(rb'<(?:\w+:)?sheet\s[^>]*?\w:id="([^"]+)"')
_TARGETS: Final = re.compile(rb'<(?:\w+:)?Relationship(?=[^>]*\sId="([^"]+)")(?=[^>]*\sTarget="([^"]+)")')
_MERGED: Final = re.compile(rb'<(?:\w+:)?mergeCell ref="([A-Z]+)(\d+):[A-Z]+(\d+)"')
_UNCOMPUTED: Final = re.compile(
    rb"<((?:\w+:)?)c(?![^>]* t=)[^>]*>\s*<\1f(?:\s[^>]*)?>[^<]*</\1f>\s*(?:<\1v\s*/>|<\1v></\1v>)?\s*</\1c>"
)
"""A formula without a result, as programs write it that compute none; an empty text is one, and has a type."""

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


def read_export(path: Path) -> FileRows:
    """Read CSV with a header, which may stand below title lines and name two columns alike."""
    fault = InputError(f"{path} has no line with the names of its columns; put one above its rows")
    strict: FileRows | None = None
    try:
        strict = without_totals(FileRows(read_delimited(path)))
    except InputError as error:
        fault = error
    is_named = strict is not None and are_names(strict.texts.columns)
    if strict is not None and is_named and strict.texts.width > 1:
        return strict
    # One column of texts may have as many commas in every row; a reading without a note was tried above.
    fewest = 2 if strict is None else 3
    found = [sheet for sheet in _below_titles(path, read_text(path)) if sheet.notes and sheet.texts.width >= fewest]
    wide = [sheet for sheet in found if sheet.texts.width == max(each.texts.width for each in found)]
    if len(wide) == 1:
        return wide[0]
    if strict is None or not is_named:
        raise fault
    return strict


def _below_titles(path: Path, source: DelimitedText) -> list[FileRows]:
    """Return the table of each delimiter with which there is one."""
    found: list[FileRows] = []
    faults: list[str] = []
    for delimiter in [source.named_delimiter] if source.named_delimiter else DELIMITERS:
        try:
            read = list(source.rows(delimiter))
        except ValueError:
            continue
        rows = [cells for _, cells in read]
        place = header_row(rows)
        if place is None:
            continue
        width = len(rows[place])
        last = [*rows[-1], *[""] * (width - len(rows[-1]))]
        if is_totals(last):
            rows[-1] = last
        uneven = [number for number in range(place + 1, len(rows)) if rows[number] and len(rows[number]) != width]
        if width > 1 and not uneven and (sheet := sheet_of(rows, place)) is not None:
            found.append(sheet)
        elif uneven and place and width > 1:
            line, cells = read[uneven[0]]
            faults.append(f"line {line} has {len(cells)} cells, and the header, line {read[place][0]}, has {width}")
    if faults and not found:
        raise InputError(f"{path}: {faults[0]}; correct it, or export it again")
    return found


def read_workbook(path: Path) -> FileRows:
    """Read the one sheet of a workbook that has rows and is not hidden; formulas must have been computed."""
    from fastexcel import FastExcelError, read_excel

    with path.open("rb") as file:
        if file.read(len(_ENCRYPTED)) == _ENCRYPTED:
            raise InputError(f"{path} has a password, or is older than .xlsx; save it as .xlsx without a password")
    try:
        book = read_excel(str(path))
        sheets = [book.load_sheet(n, header_row=None, skip_rows=0, dtypes="string") for n in book.sheet_names]
        full = [sheet for sheet in sheets if sheet.visible == "visible" and sheet.width and sheet.height > 1]
        if len(full) != 1:
            named = ", ".join(repr(sheet.name) for sheet in full)
            many = f"has rows in {len(full)} sheets ({named}); save each as a file of its own"
            raise InputError(f"{path} {many if full else 'has no sheet with rows; export it again'}")
        (sheet,) = full
        rows = [list(row) for row in sheet.to_polars().rows()]
        first = sheet.available_columns()[0].absolute_index
        for column, top, bottom in _merged(path, book.sheet_names.index(sheet.name)):
            for row in rows[top:bottom] if first <= column < first + len(rows[0]) else ():
                row[column - first] = rows[top - 1][column - first]
        place = header_row(rows)
        if place is not None:
            typed = book.load_sheet(sheet.name, header_row=None, skip_rows=place + 1, schema_sample_rows=None)
            numbers = [each.index for each in typed.available_columns() if each.dtype in {"int", "float"}]
            if (found := sheet_of(rows, place, numbers)) is not None:
                return found
    except (FastExcelError, BadZipFile, LookupError):
        raise InputError(f"{path} cannot be read as a workbook; open it, and save it again as {ENDING}") from None
    raise InputError(f"{path} has no row with the names of its columns; put one above its rows")


def _merged(path: Path, place: int) -> list[tuple[int, int, int]]:
    """Return column, from 0, and first and last row, from 1, of the merged cells of a sheet by its place."""
    found: list[tuple[int, int, int]] = []
    with ZipFile(path) as archive:
        targets = dict(_TARGETS.findall(archive.read("xl/_rels/workbook.xml.rels")))
        target = targets[_SHEET.findall(archive.read("xl/workbook.xml"))[place]].decode()
        with archive.open(target.removeprefix("/") if target.startswith("/") else f"xl/{target}") as file:
            before = b""
            while part := file.read(_BYTES_AT_ONCE):
                text = before + part
                if _UNCOMPUTED.search(text):
                    raise InputError(f"{path} has formulas without results; open it, and save it again as {ENDING}")
                found += [(_place(letters), int(top), int(end)) for letters, top, end in _MERGED.findall(text)]
                before = text[-4096:]
    return found


def _place(letters: bytes) -> int:
    """Return the place of a column, from 0: A, B, ..., Z, AA."""
    return reduce(lambda number, letter: number * 26 + letter - ord("A") + 1, letters, 0) - 1
