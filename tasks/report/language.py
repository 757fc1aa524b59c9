"""Language of a report, which is a context's: a sentence is made deep in the statistics, and read in one report."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from schemas.config.report import Language

CODES: Final[Mapping[Language, str]] = {"en": "en", "pt": "pt-BR"}
"""Of each language the code that a page states."""
_SPOKEN: Final[ContextVar[Language]] = ContextVar("language", default="en")


@contextmanager
def spoken(language: Language) -> Iterator[None]:
    """Make messages, numbers and figures in a language within the block; elsewhere they are English."""
    before = _SPOKEN.set(language)
    try:
        yield
    finally:
        _SPOKEN.reset(before)


def language() -> Language:
    """Return the language that is spoken."""
    return _SPOKEN.get()
