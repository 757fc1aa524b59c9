"""CSV as shops export it: strictly read where that is possible, else from below its title lines."""

from pathlib import Path

from schemas.errors import InputError
from schemas.tables.delimited import DELIMITERS, DelimitedText, read_delimited, read_text
from tasks.synthesize.sheets.table import FileRows, are_names, header_row, is_totals, sheet_of, without_totals


def read_export(path: Path) -> FileRows:
    """Read CSV with a header, which may stand below title lines and name two columns alike.

    InputError where the file cannot be read in one way alone, or has no line with the names of its columns.
    """
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
