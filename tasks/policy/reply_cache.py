"""Cache of an endpoint's replies, saved on arrival, so that nothing is paid for twice."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schemas.errors import InputError
from schemas.sqlite_file import SqliteFile


class ReplyCache:
    """Replies by the key of their question; for one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use `open_cache` instead."""
        self._connection = connection

    def get(self, key: str) -> str | None:
        """Return the reply to a question that was asked before."""
        row = self._connection.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put(self, key: str, text: str) -> None:
        """Save a reply."""
        with self._connection:
            self._connection.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, text))


@contextmanager
def open_cache(path: Path, what: str) -> Iterator[ReplyCache]:
    """Open a cache, which is created with its folder if missing.

    Args:
        path: Its file.
        what: Its name in errors, such as `the cache of paraphrases`.

    Raises:
        InputError: The file is damaged or cannot be written, also if that happens in the block.
        InUse: Another process holds it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{what} {path} cannot be made ({error.strerror}); give a state folder that you may write"
        ) from None
    with SqliteFile(path, what, "the replies in it, which are asked for again").opened(write=True) as connection:
        with connection:
            connection.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL)")
        yield ReplyCache(connection)
