"""Language of a report: its messages in English, or as a catalogue translates them.

Messages are written in English where they are made, as with gettext, and the catalogue has them as keys. The language
is a context's, not an argument's: a sentence is made deep in the statistics, and read in one report.
"""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Final

from schemas.config.evaluate import Language

DATA_FILES: Final = ("data/languages/pt.toml",)
CODES: Final[Mapping[Language, str]] = {"en": "en", "pt": "pt-BR"}
"""Of each language the code that a page states."""
_REPOSITORY: Final = Path(__file__).resolve().parents[2]
_SPOKEN: Final[ContextVar[Language]] = ContextVar("language", default="en")


@contextmanager
def spoken(language: Language) -> Iterator[None]:
    """Make messages and numbers in a language, English where none is set."""
    before = _SPOKEN.set(language)
    try:
        yield
    finally:
        _SPOKEN.reset(before)


def language() -> Language:
    """Return the language that is spoken."""
    return _SPOKEN.get()


def worded(message: str, **values: object) -> str:
    """Return a message in the language that is spoken.

    Args:
        message: In English, with places such as `{task}` for the values; one without a translation stays English.
        values: Numbers as text (see `tasks.evaluate.number_format`). Without any, braces are braces.
    """
    found = message if language() == "en" else catalogue().get(message, message)
    return found.format(**values) if values else found


def counted(number: int, one: str, many: str, **values: object) -> str:
    """Return the message for one thing or for any other number of them, whose place is `{n}`."""
    return worded(one if number == 1 else many, n=number, **values)


@cache
def catalogue() -> Mapping[str, str]:
    """Return the Portuguese messages by the English ones."""
    return tomllib.loads((_REPOSITORY / DATA_FILES[0]).read_text(encoding="utf-8"))
