"""Scoring session of one rater on a sheet: the next completion, and every score saved at once.

The sheet is the only state: it is read again under its lock at each change, and only the rater's own row is changed. So
a killed session loses nothing, raters may work in parallel, and edits by a spreadsheet are kept.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final, cast

from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.scoring import Rows, change_rows, row_of, with_score, without_score
from tasks.audit.sheet import Row, is_scored, read_rows

PSEUDONYM: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")


@dataclass(frozen=True)
class RaterView:
    """A rater's view of a completion, without its reward or the scores of others."""

    audit_id: str
    """Its identity."""
    task: TaskName
    """The prompt's task."""
    prompt: str
    """The question."""
    completion: str
    """The answer to score, which is hostile text."""


@dataclass(frozen=True)
class _Step:
    """A score or a skip, as needed for undo."""

    audit_id: str
    skipped_before: tuple[str, ...]
    seconds: float | None
    """Time between display and score; None for a skip."""


class Labelling:
    """A rater's progress through a sheet: in sheet order, then the skipped completions again."""

    def __init__(
        self, sheet: Path, rater: str, task: TaskName | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Open a sheet for one rater, at the first completion without that rater's score.

        Args:
            sheet: The sheet's file.
            rater: The rater's pseudonym.
            task: The only task to score; None for all.
            clock: Returns the time in seconds.

        Raises:
            InputError: The sheet cannot be read or has none of the task, or the pseudonym is invalid or is not a
                person's.
        """
        check_pseudonym(rater)
        self.sheet: Final = sheet
        self.rater: Final = rater
        self._task = task
        self._clock = clock
        self._skipped: tuple[str, ...] = ()
        self._steps: tuple[_Step, ...] = ()
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
    def skipped(self) -> int:
        """Return the number of skipped completions still to come."""
        return len({shown.audit_id for shown in self._queue} & set(self._skipped))

    @property
    def seconds_each(self) -> float | None:
        """Return the median time per score in this session; None before the first."""
        seconds = [step.seconds for step in self._steps if step.seconds is not None]
        return median(seconds) if seconds else None

    @property
    def scored_now(self) -> int:
        """Return the number of scores in this session."""
        return sum(step.seconds is not None for step in self._steps)

    @property
    def note(self) -> str:
        """Return the rater's note on the current completion; it is saved with the score."""
        audit_id = self._now().audit_id
        row = row_of(self._rows, audit_id, self.rater)
        return self._notes.get(audit_id, row["notes"] if row else "")

    @property
    def notes_without_score(self) -> int:
        """Return the number of notes not yet saved by a score."""
        return sum(bool(self._notes.get(shown.audit_id)) for shown in self._queue)

    def write_note(self, text: str) -> None:
        """Set the note on the current completion; an empty text removes it."""
        self._notes[self._now().audit_id] = text

    def score(self, score: int) -> None:
        """Save the current completion's score and note, and advance.

        Raises:
            InputError: The sheet can no longer be read or written, or has no such completion.
        """
        shown, note, seconds = self._now(), self.note, self._clock() - self._since

        def scored(rows: Rows) -> Rows:
            self._check_there(rows, shown)
            return with_score(rows, shown.audit_id, self.rater, "human", score, note)

        rows = change_rows(self.sheet, scored)
        self._steps = (*self._steps, _Step(shown.audit_id, self._skipped, seconds))
        self._take(rows)

    def skip(self) -> None:
        """Postpone the current completion until after all others, or to the next session."""
        shown = self._now()
        self._steps = (*self._steps, _Step(shown.audit_id, self._skipped, None))
        self._skipped = (*(identity for identity in self._skipped if identity != shown.audit_id), shown.audit_id)
        self._take(self._rows)

    def undo(self) -> bool:
        """Undo the session's last score or skip, and return whether there was one.

        Raises:
            InputError: The sheet can no longer be read or written.
        """
        if not self._steps:
            return False
        last = self._steps[-1]
        rows = self._rows
        if last.seconds is not None:
            rows = change_rows(self.sheet, lambda rows: self._without_score(rows, last.audit_id))
        self._steps = self._steps[:-1]
        self._skipped = last.skipped_before
        self._take(rows)
        return True

    def _take(self, rows: Rows) -> None:
        """Adopt the sheet's present rows."""
        self._rows = rows
        mine = {row["audit_id"] for row in rows if row["rater"] == self.rater and is_scored(row)}
        in_scope = (row for row in rows if self._task in {None, row["task"]})
        self._shown = tuple({row["audit_id"]: _as_shown(row) for row in in_scope}.values())
        waiting = [shown for shown in self._shown if shown.audit_id not in mine]
        # The sort is stable: completions never skipped stay in sheet order.
        places = {identity: place for place, identity in enumerate(self._skipped)}
        self._queue = sorted(waiting, key=lambda shown: places.get(shown.audit_id, -1))
        self._since = self._clock()

    def _without_score(self, rows: Rows, audit_id: str) -> Rows:
        row = row_of(rows, audit_id, self.rater)
        self._notes[audit_id] = row["notes"] if row else ""
        return without_score(rows, audit_id, self.rater)

    def _now(self) -> RaterView:
        if not self._queue:
            raise IndexError("every completion is scored")
        return self._queue[0]

    def _check_there(self, rows: Rows, shown: RaterView) -> None:
        if all(_as_shown(row) != shown for row in rows if row["audit_id"] == shown.audit_id):
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


def _as_shown(row: Row) -> RaterView:
    return RaterView(row["audit_id"], cast("TaskName", row["task"]), row["prompt"], row["completion"])
