"""Location of a fault in a store's CSV file: the column, and the row as a spreadsheet counts, the header being row 1.

No message repeats what a person may have written: where a row is shifted, a review's text is in any column.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

FIRST_ROW: Final = 2
"""Number of the row below the header."""
_FIELD: Final = re.compile(r'(?:"[^"]*(?:""[^"]*)*"|[^",\r\n]*)(,|\r\n|\r|\n|\Z)')
_NOT_UTF8: Final = re.compile("[\ud800-\udfff]")
_COLUMN: Final = re.compile(r"[a-z0-9_]{1,60}")
_CODE: Final = re.compile(r"[\w.:+-]{1,40}|[\d: -]{1,19}")
_NUMBER: Final = re.compile(r"[\d.,:+ -]{1,40}")


def shown(value: object, *, written_by_people: bool) -> str:
    """Return a cell for a message, or only how long it is.

    Args:
        value: The cell.
        written_by_people: Whether people wrote some of the table; then only cells without letters are repeated.
    """
    text = str(value)
    if (_NUMBER if written_by_people else _CODE).fullmatch(text):
        return repr(text)
    return f"a text of {len(text):,} characters"


def shown_column(name: str) -> str:
    """Return a column's name for a message; where the header is missing, it is a cell of the first row."""
    return name if _COLUMN.fullmatch(name) else f"with a name of {len(name):,} characters"


def first_fault(path: Path) -> str | None:
    """Find the first malformed row of a CSV file, and describe its fault; None where all rows are well-formed."""
    # Invalid UTF-8 becomes a lone surrogate, which no valid text has.
    text = path.read_bytes().decode("utf-8-sig", errors="surrogateescape")
    broken_at = match.start() if (match := _NOT_UTF8.search(text)) else len(text)
    header: list[str] = []
    fields: list[str] = []
    row, position = 1, 0
    while position < len(text):
        field = _FIELD.match(text, position)
        if field is None:
            place = _place(header, fields, row)
            return f"{place}: a quotation mark is not closed, or stands inside a text without being doubled"
        if broken_at < field.end():
            return f"{_place(header, fields, row)} is not UTF-8"
        fields.append(field[0].removesuffix(field[1]).strip('"'))
        position = field.end()
        if field[1] != ",":
            header = header or fields
            if fields == [""] and len(header) > 1:
                return f"row {row} is blank"
            if len(fields) != len(header):
                return f"row {row} has {len(fields)} fields where the header has {len(header)}"
            row, fields = row + 1, []
    return None


def _place(header: Sequence[str], fields: Sequence[str], row: int) -> str:
    return f"column {header[len(fields)]}, row {row}" if len(fields) < len(header) else f"row {row}"
