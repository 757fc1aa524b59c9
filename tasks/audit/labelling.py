"""Scoring session of one rater on a sheet: the next completion, and every score saved at once.

The sheet is the only state: it is read again under its lock at each change, and only the rater's own row is changed. So
a killed session loses nothing, raters may work in parallel, and edits by a spreadsheet are kept. A completion begins
with one blank row, which the first rater's score fills; each further rater gets a row right behind.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from schemas.config.config import AUDIT_FOLDER
from schemas.disk import locked
from schemas.documents import RaterKind
from schemas.errors import InputError
from schemas.shown_text import as_shown
from schemas.tasks import TaskName
from tasks.audit.sheet import MOST_CHARACTERS, Row, as_kept, is_scored, read_rows, write_rows

Rows = tuple[Row, ...]
SCALE: Final = {
    "1": "não serve",
    "2": "quase não serve",
    "3": "serve corrigida",
    "4": "um deslize",
    "5": "como está",
}
PSEUDONYM: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")
RUBRICS_FOLDER: Final = AUDIT_FOLDER / "rubrics"
SHOWN: Final = ("audit_id", "task", "prompt", "completion")
"""What a rater sees of a row, without its reward or the scores of others; prompt and completion are hostile text."""
_NOT_SCORED: Final[Row] = dict.fromkeys(("human_score", "rater", "rater_kind", "notes"), "")


class Labelling:
    """A rater's progress through a sheet: in sheet order, then the skipped completions again."""

    def __init__(self, sheet: Path, rater: str, task: TaskName | None = None) -> None:
        """Open a sheet for one rater, at the first completion without that rater's score.

        InputError where the sheet cannot be read or has none of the task, or the pseudonym is invalid or is not a
        person's.
        """
        check_pseudonym(rater)
        self.sheet: Final = sheet
        self.rater: Final = rater
        self._task = task
        self._skipped: list[str] = []
        """In their order; what was skipped twice comes after what was skipped between."""
        self._steps: list[str | None] = []
        """The completions that were scored, and None for each skip."""
        self._notes: dict[str, str] = {}
        self._take(read_rows(sheet))
        kinds = {row["rater_kind"] for row in self._rows if row["rater"] == rater} - {"", "human"}
        if kinds:
            raise InputError(
                f"sheet {sheet}: rater {rater} is a {' and a '.join(sorted(kinds))} there, and a person scores here; "
                "choose another pseudonym"
            )
        if not self.total:
            has = {row["task"]: None for row in self._rows}
            raise InputError(f"sheet {sheet} has no completion of {task}; it has {', '.join(has)}")

    def view(self) -> dict[str, Any]:
        """Return what a rater's page shows: the completion to score now; empty if all are scored."""
        shown = self.current
        if shown is None:
            return {}
        return {
            "id": shown["audit_id"],
            "task": shown["task"],
            "prompt": as_shown(shown["prompt"]),
            "completion": as_shown(shown["completion"]),
            "question": "Que nota a resposta merece?",
            "choices": list(SCALE.items()),
            "note": self._notes.get(shown["audit_id"], self._own_note(shown["audit_id"])),
            "rubric": f"{rubric(shown['task'])}\n{rubric('general')}",
        }

    def act(self, action: str, value: str, note: str) -> None:
        """Do what a rater's page was asked for: `answer` with a score, `skip` or `undo`; the errors are theirs."""
        if action == "answer" and value in SCALE:
            self.score(int(value), note[:MOST_CHARACTERS])
        elif action == "skip":
            self.skip()
        elif action == "undo" and self._steps:
            self._undo()

    def score(self, score: int, note: str = "") -> None:
        """Save the current completion's score, and advance; InputError where the sheet lost it or cannot be written."""
        shown = self._queue[0]

        def scored(rows: Rows) -> Rows:
            if shown not in map(_shown, rows):
                raise InputError(
                    f"sheet {self.sheet} was changed: the completion {shown['audit_id']}, the next to be scored, is no "
                    "longer in it or has another text; put it back, and run the same command again"
                )
            return with_score(rows, shown["audit_id"], self.rater, "human", score, note)

        rows = change_rows(self.sheet, scored)
        self._steps.append(shown["audit_id"])
        self._take(rows)

    def skip(self) -> None:
        """Postpone the current completion until after all others, or to the next session."""
        self._skipped.append(self._queue[0]["audit_id"])
        self._steps.append(None)
        self._take(self._rows)

    def _undo(self) -> None:
        rows, audit_id = self._rows, self._steps[-1]
        if audit_id is None:
            self._skipped.pop()
        else:
            self._notes[audit_id] = self._own_note(audit_id)
            rows = change_rows(self.sheet, lambda rows: without_score(rows, audit_id, self.rater))
        self._steps.pop()
        self._take(rows)

    def _own_note(self, audit_id: str) -> str:
        place = _place_of(self._rows, audit_id, self.rater)
        return "" if place is None else self._rows[place]["notes"]

    def _take(self, rows: Rows) -> None:
        self._rows = rows
        mine = {row["audit_id"] for row in rows if row["rater"] == self.rater and is_scored(row)}
        in_scope = {row["audit_id"]: _shown(row) for row in rows if self._task in {None, row["task"]}}
        # The sort is stable: completions never skipped stay in sheet order.
        places = {identity: place for place, identity in enumerate(self._skipped)}
        waiting = (shown for identity, shown in in_scope.items() if identity not in mine)
        self._queue = sorted(waiting, key=lambda shown: places.get(shown["audit_id"], -1))
        self.total, self.left = len(in_scope), len(self._queue)
        self.current = self._queue[0] if self._queue else None


def _shown(row: Row) -> Row:
    return {name: row[name] for name in SHOWN}


def check_pseudonym(rater: str) -> None:
    """Refuse what may be a name or an address; InputError where it is no pseudonym."""
    if not PSEUDONYM.fullmatch(rater):
        # The input may be the name or address that must not be stored anywhere.
        raise InputError(
            "--rater takes a pseudonym, no name or e-mail: up to 31 lower-case letters without accents, digits and "
            "hyphens, such as rater-1"
        )


def rubric(name: str) -> str:
    """Return the anchors of one task's scores, or of `general` the rubric of all tasks, as Markdown."""
    return (RUBRICS_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def with_score(rows: Rows, audit_id: str, rater: str, rater_kind: RaterKind, score: int, notes: str) -> Rows:
    """Return the rows with a rater's score: in the own row, the blank one or a new one; InputError without any."""
    places = [place for place, row in enumerate(rows) if row["audit_id"] == audit_id]
    if not places:
        raise InputError(f"no row of the sheet has the audit_id {audit_id}; put the row back, or score a new sheet")
    scored = {"human_score": str(score), "rater": rater, "rater_kind": rater_kind, "notes": as_kept(notes)}
    place = _place_of(rows, audit_id, rater)
    if place is None:
        # People who fill in a sheet by hand start with a column that is equal in all rows.
        blank = (place for place in places if not is_scored(rows[place]) and not rows[place]["rater"].strip())
        place = next(blank, None)
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

    An unchanged sheet is not written. InputError where the sheet cannot be read or written.
    """
    if not sheet.is_file():
        raise InputError(f"there is no sheet {sheet}; give the path of one")
    with held(sheet, "sheet"):
        rows = read_rows(sheet)
        changed = change(rows)
        if changed != rows:
            write_rows(sheet, changed)
        return changed


@contextmanager
def held(file: Path, what: str) -> Iterator[None]:
    """Hold the lock of a file that people's answers are in; InputError where it cannot be written in the block."""
    try:
        with locked(file):
            yield
    except OSError as error:
        raise InputError(
            f"{what} {file} cannot be written ({error.strerror or error}); free space or permissions in its folder"
        ) from error


def _place_of(rows: Rows, audit_id: str, rater: str) -> int | None:
    own = (place for place, row in enumerate(rows) if row["audit_id"] == audit_id and row["rater"] == rater)
    return next(own, None)
