"""Insertion and removal of a rater's score in a sheet, one rater at a time.

A completion begins with one blank row. The first rater's score fills it; each further rater gets a row right behind.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from schemas.disk import locked
from schemas.documents import RaterKind
from schemas.errors import InputError
from tasks.audit.sheet import Row, as_kept, read_with_dialect, write_rows

Rows = tuple[Row, ...]

_NOT_SCORED: Final[Row] = dict.fromkeys(("human_score", "rater", "rater_kind", "notes"), "")


def row_of(rows: Rows, audit_id: str, rater: str) -> Row | None:
    """Return a rater's row of a completion; None without one."""
    place = _place_of(rows, audit_id, rater)
    return None if place is None else rows[place]


def with_score(rows: Rows, audit_id: str, rater: str, rater_kind: RaterKind, score: int, notes: str) -> Rows:
    """Return the rows with a rater's score: in the rater's own row, else in the blank row, else in a new one.

    Raises:
        InputError: No row has this completion.
    """
    places = [place for place, row in enumerate(rows) if row["audit_id"] == audit_id]
    if not places:
        raise InputError(f"no row of the sheet has the audit_id {audit_id}; put the row back, or score a new sheet")
    scored = {"human_score": str(score), "rater": rater, "rater_kind": rater_kind, "notes": as_kept(notes)}
    place = _place_of(rows, audit_id, rater)
    if place is None:
        place = next((place for place in places if _is_blank(rows[place])), None)
    if place is not None:
        return *rows[:place], {**rows[place], **scored}, *rows[place + 1 :]
    behind = places[-1] + 1
    return *rows[:behind], {**rows[behind - 1], **scored}, *rows[behind:]


def without_score(rows: Rows, audit_id: str, rater: str) -> Rows:
    """Return the rows without a rater's score of a completion; its last row stays, blank."""
    place = _place_of(rows, audit_id, rater)
    if place is None:
        return rows
    alone = sum(row["audit_id"] == audit_id for row in rows) == 1
    left = ({**rows[place], **_NOT_SCORED},) if alone else ()
    return *rows[:place], *left, *rows[place + 1 :]


def change_rows(sheet: Path, change: Callable[[Rows], Rows]) -> Rows:
    """Read a sheet, change its rows and write them under a lock; return the new rows.

    An unchanged sheet is not written; another keeps the dialect of the spreadsheet that saved it.

    Raises:
        InputError: The sheet cannot be read or written.
    """
    if not sheet.is_file():
        raise InputError(f"there is no sheet {sheet}; give the path of one")
    try:
        with locked(sheet):
            rows, dialect = read_with_dialect(sheet)
            changed = change(rows)
            if changed != rows:
                write_rows(sheet, changed, dialect)
            return changed
    except OSError as error:
        raise InputError(
            f"sheet {sheet} cannot be written ({error.strerror or error}); free space or permissions in its folder"
        ) from error


def _place_of(rows: Rows, audit_id: str, rater: str) -> int | None:
    return next(
        (place for place, row in enumerate(rows) if row["audit_id"] == audit_id and row["rater"] == rater), None
    )


def _is_blank(row: Row) -> bool:
    # People who fill in a sheet by hand start with a column that is equal in all rows.
    return not row["human_score"].strip() and not row["rater"].strip()
