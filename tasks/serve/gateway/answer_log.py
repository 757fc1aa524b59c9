"""Log of the answers, as `tucano monitor` reads it: a file of JSON Lines a day, without personal data.

A line is with the operating system before its answer is sent, so that no end of this process loses it; after an end of
the machine, lines of the last seconds may be missing.
"""

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout
from pydantic import BaseModel

from schemas.documents import LoggedAnswer
from schemas.errors import InputError
from schemas.tables.production_logs import end_of_last_line

LOCK_FILE: Final = ".lock"
SUFFIX: Final = ".jsonl"


class ServedAnswer(LoggedAnswer):
    """Line of the log: what monitoring reads, and how the answer was made."""

    valid: bool
    """Whether any of it could be sent."""
    checked: bool
    """Whether all of it was checked and holds."""
    reason: str | None
    shown: str | None
    """Text of it that could be sent; None where nothing could."""
    guided: bool
    """Whether a grammar guided it."""
    tokens: int


class LogUnwritable(Exception):
    """The log cannot take a line."""


class DailyFile:
    """Folder with a file of JSON Lines for each day (UTC), to which one process appends."""

    def __init__(self, folder: Path, *, days: int) -> None:
        """Take the folder for this process, and make it where missing; files are kept for so many days."""
        self.folder, self._days = folder, days
        self._file: int | None = None
        self._day = date.min
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = FileLock(folder / LOCK_FILE)
            self._lock.acquire(blocking=False)
        except Timeout:
            raise InputError(
                f"another gateway writes to {folder}; end it, or name another state folder with --set state.root=FOLDER"
            ) from None
        except OSError as error:
            sentence = f"the folder of logs {folder} cannot be written ({error.strerror}); correct its permissions"
            raise InputError(sentence) from None

    def append(self, document: BaseModel, now: datetime) -> None:
        """Append a line to the file of the day of `now`, which has a zone; of a `LogUnwritable` one nothing stays."""
        line = document.model_dump_json().encode() + b"\n"
        try:
            file = self._of_day(now.astimezone(UTC).date())
            size = os.fstat(file).st_size
            if os.write(file, line) != len(line):
                os.ftruncate(file, size)
                raise LogUnwritable("the disk is full")
        except OSError as error:
            self._forget_file()
            raise LogUnwritable(error.strerror or type(error).__name__) from None

    def close(self) -> None:
        """Leave the folder to others."""
        self._forget_file()
        self._lock.release()

    def _of_day(self, day: date) -> int:
        path = self.folder / f"{day:%Y-%m-%d}{SUFFIX}"
        if self._file is None or day != self._day or not _is_at(path, self._file):
            self._forget_file()
            first = f"{day - timedelta(days=self._days):%Y-%m-%d}"
            for old in self.folder.glob(f"20??-??-??{SUFFIX}"):
                if old.stem < first:
                    old.unlink(missing_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            self._day = day
            # What a killed machine left of a line: its answer was never sent.
            os.ftruncate(self._file, end_of_last_line(path, os.fstat(self._file).st_size))
        return self._file

    def _forget_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _is_at(path: Path, file: int) -> bool:
    """Return whether an open file is still the one at its path: a line in a removed one would be lost."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False
