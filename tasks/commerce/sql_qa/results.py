"""Agreement of two query results."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from itertools import permutations
from typing import Final

from tasks.commerce.sql_qa.sandbox import Cell, Execution, Row

COPIES_WITH_AN_ANSWER: Final = 2
"""Copies on which a question must have an answer, each a different one; the small copy may have none."""
TOLERANCE: Final = 0.0051  # Half a cent: an unrounded value equals the rounded one.
MAX_PAIRED, MAX_PERMUTED = 100, 4
"""Rows compared pairwise after the equal ones are removed, and columns of which every order is tried."""
WRONG_ORDER, WRONG_COLUMN_ORDER = 0.8, 0.4
"""Grades of the right rows in the wrong order, and of the right columns: each stands under the other's title."""
ROWS, CELLS = 0.4, 0.2  # Most that a wrong result earns for its rows and for its cells.
_DIGITS: Final = re.compile(r"[0-9]{1,4}")
"""A text that is read as a number: months, weekdays, hours and years have no more digits."""
_DECIMAL: Final = re.compile(r"-?(?:[0-9]{1,12}|[0-9]{1,3}(?:,[0-9]{3}){1,3})\.[0-9]{1,4}")


def has_answer(rows: Sequence[Row]) -> bool:
    """Return whether a result is more than nulls and zeros: if nothing is found, a sum is null and a count is 0."""
    return any(cell for row in rows for cell in row)


def agreement(found: Execution, wanted: Execution, *, ordered: bool) -> float:
    """Grade a result against the reference's, in [0, 1], whose order of rows counts where it is `ordered`."""
    if found.refusal is not None:
        return 0.0
    if found.rows == wanted.rows:
        return 1.0
    mine, right = ([tuple(map(_number, row)) for row in each.rows] for each in (found, wanted))
    rows = rows_f1(mine, right)
    if rows == 1.0:
        return 1.0 if not ordered or _in_order(mine, right) else WRONG_ORDER
    values = ([cell for row in rows_of for cell in row] for rows_of in (mine, right))
    rounded = ([round(cell, 2) if isinstance(cell, float) else cell for cell in each] for each in values)
    cells = f1(*rounded)
    if cells == 1.0 and found.columns == wanted.columns <= MAX_PERMUTED:
        for order in permutations(range(found.columns)):
            moved = [tuple(row[place] for place in order) for row in mine]
            if rows_f1(moved, right) == 1.0:
                return WRONG_COLUMN_ORDER * (1.0 if not ordered or _in_order(moved, right) else WRONG_ORDER)
    return ROWS * rows + CELLS * cells


def shape(found: Execution, wanted: Execution) -> float:
    """Grade the number of columns and of rows, half each, in [0, 1]."""
    if found.refusal is not None:
        return 0.0
    pairs = ((found.columns, wanted.columns), (len(found.rows), len(wanted.rows)))
    return sum(min(pair) / max(pair) if max(pair) else 1.0 for pair in pairs) / 2


def f1(found: Collection[Cell], wanted: Collection[Cell]) -> float:
    """Return the F1 of two multisets of cells or words; of two empty ones it is 1."""
    common = (Counter(found) & Counter(wanted)).total()
    return 2 * common / (len(found) + len(wanted)) if found or wanted else 1.0


def rows_f1(found: Sequence[Row], wanted: Sequence[Row]) -> float:
    """Return the F1 of two multisets of rows, numbers within the tolerance."""
    if not found and not wanted:
        return 1.0
    found_left, wanted_left = Counter(found), Counter(wanted)
    equal = found_left & wanted_left
    pairs = equal.total()
    # Only rows of equal texts can be the same.
    rest: defaultdict[Row, list[Row]] = defaultdict(list)
    for row in list((wanted_left - equal).elements())[:MAX_PAIRED]:
        rest[_texts(row)].append(row)
    for row in list((found_left - equal).elements())[:MAX_PAIRED]:
        others = rest.get(_texts(row), [])
        if (match := next((place for place, other in enumerate(others) if _same_row(row, other)), None)) is not None:
            del others[match]
            pairs += 1
    return 2 * pairs / (len(found) + len(wanted))


def _number(cell: Cell) -> Cell:
    """Convert texts of numbers: month "07" of strftime equals the 7 of its CAST, and "4.50" of printf equals 4.5."""
    if not isinstance(cell, str):
        return cell
    if _DIGITS.fullmatch(cell):
        return int(cell)
    return float(cell.replace(",", "")) if _DECIMAL.fullmatch(cell) else cell


def _in_order(found: Sequence[Row], wanted: Sequence[Row]) -> bool:
    return all(_same_row(one, other) for one, other in zip(found, wanted, strict=True))


def _texts(row: Row) -> Row:
    return tuple(None if isinstance(cell, int | float) else cell for cell in row)


def _same_row(one: Row, other: Row) -> bool:
    return len(one) == len(other) and all(map(_same_cell, one, other))


def _same_cell(one: Cell, other: Cell) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=TOLERANCE)
    return one == other
