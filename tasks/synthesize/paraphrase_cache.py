"""Every answer of the paraphrasing model, kept on disk: the same question is never asked twice.

A language model's answer cannot be had again; what it once said is an input of the prompts that are made from it. So
the cache is what makes equal inputs give equal bytes.
"""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from schemas.errors import InputError
from schemas.prompts import canonical_json

FILE: Final = "answers.sqlite3"


def question_key(model: str, temperature: float, instruction: str, text: str, variant: int, ask: int) -> str:
    """Return the sha256 of all that decides an answer.

    Args:
        model: The model's name.
        temperature: Its sampling temperature.
        instruction: What it is told to do.
        text: The sentence.
        variant: Which of several paraphrases of the sentence this is to be.
        ask: How often it was asked for before, and refused.
    """
    question = {
        "model": model,
        "temperature": temperature,
        "instruction": instruction,
        "text": text,
        "variant": variant,
        "ask": ask,
    }
    return hashlib.sha256(canonical_json(question).encode()).hexdigest()


class AnswerCache:
    """Answers by the key of their question; for one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use `open_cache` instead."""
        self._connection = connection

    def get(self, key: str) -> str | None:
        """Return the answer to a question that was asked before."""
        row = self._connection.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put(self, key: str, answer: str) -> None:
        """Keep an answer."""
        with self._connection:
            self._connection.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, answer))


@contextmanager
def open_cache(folder: Path) -> Iterator[AnswerCache]:
    """Open the cache of a folder, which is made where there is none.

    Raises:
        InputError: The file is damaged or cannot be written, also where the block finds that out.
    """
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the cache of paraphrases {path} cannot be made ({error.strerror}); give a state folder that you may write"
        ) from None
    try:
        connection = sqlite3.connect(path, timeout=30.0)
        try:
            with connection:
                connection.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL)")
            yield AnswerCache(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise InputError(
            f"the cache of paraphrases {path} cannot be used ({error}); free space or permissions, or remove the file"
        ) from None
