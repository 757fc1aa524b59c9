"""CSV as shops export it: strictly read where that is possible, else from below its title lines."""

from pathlib import Path

from schemas.errors import InputError
from schemas.tables.delimited import DELIMITERS, DelimitedText, read_delimited, read_text
from tasks.synthesize.sheets.table import Sheet, are_names, header_row, is_totals, sheet_of, without_totals


def read_export(path: Path) -> Sheet:
    """Read CSV with a header, which may stand below title lines and name two columns alike.

    Raises:
        InputError: The file cannot be read in one way alone, or has no line with the names of its columns.
    """
    fault: InputError | None = None
    strict: Sheet | None = None
    try:
        strict = without_totals(Sheet(read_delimited(path)))
    except InputError as error:
        fault = error
    if strict is not None and strict.cells.width > 1 and are_names(strict.cells.columns):
        return strict
    # One column of texts may have as many commas in every row; a reading without a note was tried above.
    fewest = 2 if strict is None else 3
    found = [sheet for sheet in _below_titles(path, read_text(path)) if sheet.notes and sheet.cells.width >= fewest]
    widest = max((sheet.cells.width for sheet in found), default=0)
    wide = [sheet for sheet in found if sheet.cells.width == widest]
    if len(wide) == 1:
        return wide[0]
    if fault is not None:
        raise fault
    if strict is None or not are_names(strict.cells.columns):
        raise InputError(f"{path} has no line with the names of its columns; put one above its rows")
    return strict


def _below_titles(path: Path, source: DelimitedText) -> list[Sheet]:
    """Return the table of each delimiter with which there is one."""
    found: list[Sheet] = []
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
