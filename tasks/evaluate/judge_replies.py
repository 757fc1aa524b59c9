"""Every reply of a judge, kept on disk as it comes: what was paid for is never asked again."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from schemas.errors import InputError

REPLIES_FILE: Final = "judge.sqlite3"


class JudgeReplies:
    """Replies by the key of their question; for one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use `open_replies` instead."""
        self._connection = connection

    def get(self, key: str) -> str | None:
        """Return the reply to a question that was asked before."""
        row = self._connection.execute("SELECT text FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put(self, key: str, text: str) -> None:
        """Keep a reply."""
        with self._connection:
            self._connection.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (key, text))


@contextmanager
def open_replies(folder: Path) -> Iterator[JudgeReplies]:
    """Open the replies that are kept in a folder, which is made where there is none.

    Raises:
        InputError: The file is damaged or cannot be written, also where the block finds that out.
    """
    path = folder / REPLIES_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the judge's replies in {path} cannot be kept ({error.strerror}); give a state folder that you may write"
        ) from None
    try:
        connection = sqlite3.connect(path, timeout=30.0)
        try:
            with connection:
                connection.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, text TEXT NOT NULL)")
            yield JudgeReplies(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise InputError(
            f"the judge's replies in {path} cannot be used ({error}); free space or permissions, or remove the file"
        ) from None
