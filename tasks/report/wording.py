"""Wording of the reports' messages: in English where they are made, as with gettext, and as a catalogue has them.

Language and currency are a context's: a sentence is made deep in the statistics.
"""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Final

from schemas.config.section import Language

DATA_FILES: Final = ("data/languages/pt",)
CODES: Final[Mapping[Language, str]] = {"en": "en", "pt": "pt-BR"}
"""Of each language the code that a page states."""
_FOLDER: Final = Path(__file__).resolve().parents[2] / DATA_FILES[0]
_SPOKEN: Final[ContextVar[Language]] = ContextVar("language", default="en")
_RATE: Final[ContextVar[float | None]] = ContextVar("reais_per_dollar", default=None)


@contextmanager
def spoken(language: Language, reais_per_dollar: float | None = None) -> Iterator[None]:
    """Make messages, numbers and figures in a language within the block; elsewhere they are English."""
    before = _SPOKEN.set(language), _RATE.set(reais_per_dollar)
    try:
        yield
    finally:
        _SPOKEN.reset(before[0])
        _RATE.reset(before[1])


def language() -> Language:
    """Return the language that is spoken."""
    return _SPOKEN.get()


def reais_per_dollar() -> float | None:
    """Return the rate by which amounts are shown in reais too."""
    return _RATE.get()


def worded(message: str, **values: object) -> str:
    """Return an English message in the language that is spoken, with values in its places such as `{task}`.

    Numbers come as text (see `tasks.report.number_format`). Without values, braces are braces.
    """
    if language() != "en":
        message = catalogue().get(message, message)
    return message.format(**values) if values else message


def counted(number: int, one: str, many: str) -> str:
    """Return the message for one thing or for any other number of them, whose place is `{n}`."""
    return worded(one if number == 1 else many, n=number)


@cache
def catalogue() -> Mapping[str, str]:
    """Return the Portuguese messages by the English ones."""
    messages: dict[str, str] = {}
    for file in sorted(_FOLDER.glob("*.toml")):
        messages |= tomllib.loads(file.read_text(encoding="utf-8"))
    return messages
