"""Questions that no cell of a file answers: the order of days and months, and the decimal sign."""

from collections.abc import Iterator
from typing import Final

import polars as pl

from schemas.errors import InputError
from schemas.tables.decimal_comma import Decimals, read_numbers
from tasks.synthesize.columns.kinds import expected
from tasks.synthesize.columns.recognize import MapSection

_YEAR_LAST: Final = r"^\s*(\d{1,2})[-/.](\d{1,2})[-/.]\d{4}"


def undecided(section: MapSection) -> Iterator[tuple[str, str]]:
    """Yield the usual answer for a Brazilian shop, as a line of the column map, and why it must be confirmed."""
    dates = [section.file.cells[c.theirs] for c in section.choices if c.sure and expected(c.ours) == "dates"]
    parts = [cells.str.extract(_YEAR_LAST, group).drop_nulls().str.to_integer() for cells in dates for group in (1, 2)]
    if any(part.len() for part in parts) and not any((part > 12).any() for part in parts):
        yield 'dates = "day-first"', "no date tells whether 03/04 is in April"
    for choice in section.choices:
        if choice.sure and expected(choice.ours) == "numbers" and _may_be_two(section, choice.theirs):
            yield 'decimals = "comma"', f"no number of {choice.theirs!r} tells whether 1.234 is more than a thousand"
            return


def _may_be_two(section: MapSection, column: str) -> bool:
    """Return whether numbers can be read with a decimal comma, and no row tells that they have one."""
    cells = section.file.cells[column]
    return (
        column not in section.file.numbers
        and not _is_readable(cells, column, None)
        and _is_readable(cells, column, "comma")
    )


def _is_readable(cells: pl.Series, column: str, decimals: Decimals | None) -> bool:
    try:
        read_numbers(cells, column, decimals)
    except InputError:
        return False
    return True
