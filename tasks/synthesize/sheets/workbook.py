"""Workbooks of Excel as a table of texts: one sheet with rows, merged cells filled, formulas as they were computed."""

import re
from functools import reduce
from pathlib import Path
from typing import Final
from zipfile import BadZipFile, ZipFile

from schemas.errors import InputError
from tasks.synthesize.sheets.table import FileRows, header_row, sheet_of

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


def read_workbook(path: Path) -> FileRows:
    """Read the one sheet of a workbook that has rows and is not hidden.

    InputError where it cannot be read, has a password, no rows, rows in several sheets, formulas that were never
    computed, or no row with the names of its columns.
    """
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
