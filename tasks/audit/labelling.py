"""Scoring session of one rater on a sheet: the next completion, and every score saved at once.

The sheet is the only state: it is read again under its lock at each change, and only the rater's own row is changed. So
a killed session loses nothing, raters may work in parallel, and edits by a spreadsheet are kept.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from schemas.config.config import AUDIT_FOLDER
from schemas.errors import InputError
from schemas.shown_text import as_shown
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.scoring import Rows, change_rows, row_of, with_score, without_score
from tasks.audit.sheet import MOST_CHARACTERS, Row, is_scored, read_rows

SCALE: Final = {
    "1": "não serve",
    "2": "quase não serve",
    "3": "serve corrigida",
    "4": "um deslize",
    "5": "como está",
}
PSEUDONYM: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")


@dataclass(frozen=True)
class RaterView:
    """A rater's view of a completion, without its reward or the scores of others."""

    audit_id: str
    task: TaskName
    prompt: str
    completion: str
    """The answer to score, which is hostile text."""


class Labelling:
    """A rater's progress through a sheet: in sheet order, then the skipped completions again."""

    def __init__(self, sheet: Path, rater: str, task: TaskName | None = None) -> None:
        """Open a sheet for one rater, at the first completion without that rater's score.

        Raises:
            InputError: The sheet cannot be read or has none of the task, or the pseudonym is invalid or is not a
                person's.
        """
        check_pseudonym(rater)
        self.sheet: Final = sheet
        self.rater: Final = rater
        self._task = task
        self._skipped: tuple[str, ...] = ()
        self._steps: tuple[tuple[str, tuple[str, ...] | None], ...] = ()
        """Scores and skips, each with its completion, and for a skip those that were skipped before."""
        self._notes: dict[str, str] = {}
        self._take(read_rows(sheet))
        self._check_kind()
        if not self._shown:
            tasks = {row["task"] for row in self._rows}
            raise InputError(
                f"sheet {sheet} has no completion of {task}; it has "
                f"{', '.join(name for name in TASK_NAMES if name in tasks)}"
            )

    @property
    def current(self) -> RaterView | None:
        """Return the completion to score now; None if all are scored."""
        return self._queue[0] if self._queue else None

    @property
    def total(self) -> int:
        """Return the number of completions of the sheet, or of its one task."""
        return len(self._shown)

    @property
    def left(self) -> int:
        """Return the number of completions without the rater's score."""
        return len(self._queue)

    @property
    def note(self) -> str:
        """Return the rater's note on the current completion; it is saved with the score."""
        audit_id = self._now().audit_id
        row = row_of(self._rows, audit_id, self.rater)
        return self._notes.get(audit_id, row["notes"] if row else "")

    def view(self) -> dict[str, Any]:
        """Return what a rater's page shows: the completion to score now; empty if all are scored."""
        shown = self.current
        if shown is None:
            return {}
        return {
            "id": shown.audit_id,
            "task": shown.task,
            "prompt": as_shown(shown.prompt),
            "completion": as_shown(shown.completion),
            "question": "Que nota a resposta merece?",
            "choices": list(SCALE.items()),
            "note": self.note,
            "rubric": f"{task_rubric(shown.task)}\n{general_rubric()}",
        }

    def act(self, action: str, value: str, note: str) -> None:
        """Do what a rater's page was asked for: `answer` with a score, `skip` or `undo`; the errors are theirs."""
        if action == "answer" and value in SCALE:
            self.score(int(value), note[:MOST_CHARACTERS])
        elif action == "skip":
            self.skip()
        elif action == "undo":
            self.undo()

    def score(self, score: int, note: str | None = None) -> None:
        """Save the current completion's score, and advance.

        Raises:
            InputError: The sheet can no longer be read or written, or has no such completion.
        """
        shown, kept = self._now(), self.note if note is None else note

        def scored(rows: Rows) -> Rows:
            self._check_there(rows, shown)
            return with_score(rows, shown.audit_id, self.rater, "human", score, kept)

        rows = change_rows(self.sheet, scored)
        self._steps = (*self._steps, (shown.audit_id, None))
        self._take(rows)

    def skip(self) -> None:
        """Postpone the current completion until after all others, or to the next session."""
        shown = self._now()
        self._steps = (*self._steps, (shown.audit_id, self._skipped))
        self._skipped = (*(identity for identity in self._skipped if identity != shown.audit_id), shown.audit_id)
        self._take(self._rows)

    def undo(self) -> bool:
        """Undo the session's last score or skip, and return whether there was one.

        Raises:
            InputError: The sheet can no longer be read or written.
        """
        if not self._steps:
            return False
        *steps, (audit_id, skipped_before) = self._steps
        rows = self._rows
        if skipped_before is None:
            row = row_of(rows, audit_id, self.rater)
            self._notes[audit_id] = row["notes"] if row else ""
            rows = change_rows(self.sheet, lambda rows: without_score(rows, audit_id, self.rater))
        else:
            self._skipped = skipped_before
        self._steps = tuple(steps)
        self._take(rows)
        return True

    def _take(self, rows: Rows) -> None:
        self._rows = rows
        mine = {row["audit_id"] for row in rows if row["rater"] == self.rater and is_scored(row)}
        in_scope = (row for row in rows if self._task in {None, row["task"]})
        self._shown = tuple({row["audit_id"]: _rater_view(row) for row in in_scope}.values())
        waiting = [shown for shown in self._shown if shown.audit_id not in mine]
        # The sort is stable: completions never skipped stay in sheet order.
        places = {identity: place for place, identity in enumerate(self._skipped)}
        self._queue = sorted(waiting, key=lambda shown: places.get(shown.audit_id, -1))

    def _now(self) -> RaterView:
        if not self._queue:
            raise IndexError("every completion is scored")
        return self._queue[0]

    def _check_there(self, rows: Rows, shown: RaterView) -> None:
        if all(_rater_view(row) != shown for row in rows if row["audit_id"] == shown.audit_id):
            raise InputError(
                f"sheet {self.sheet} was changed: the completion {shown.audit_id}, the next to be scored, is no longer "
                "in it or has another text; put it back, and run the same command again"
            )

    def _check_kind(self) -> None:
        kinds = {row["rater_kind"] for row in self._rows if row["rater"] == self.rater} - {"", "human"}
        if kinds:
            raise InputError(
                f"sheet {self.sheet}: rater {self.rater} is a {' and a '.join(sorted(kinds))} there, and a person "
                "scores here; choose another pseudonym"
            )


def check_pseudonym(rater: str) -> None:
    """Refuse what may be a name or an address.

    Raises:
        InputError: It is no pseudonym.
    """
    if not PSEUDONYM.fullmatch(rater):
        # The input may be the name or address that must not be stored anywhere.
        raise InputError(
            "--rater takes a pseudonym, no name or e-mail: up to 31 lower-case letters without accents, digits and "
            "hyphens, such as rater-1"
        )


def _rater_view(row: Row) -> RaterView:
    return RaterView(row["audit_id"], cast("TaskName", row["task"]), row["prompt"], row["completion"])


RUBRICS_FOLDER: Final = AUDIT_FOLDER / "rubrics"


def general_rubric() -> str:
    """Return the general rubric of all tasks, as Markdown."""
    return _read("general")


def task_rubric(task: TaskName) -> str:
    """Return the anchors of one task's scores, as Markdown."""
    return _read(task)


def _read(name: str) -> str:
    return (RUBRICS_FOLDER / f"{name}.md").read_text(encoding="utf-8")
