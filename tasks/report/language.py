"""Language and currency of a report, which are a context's: a sentence is made deep in the statistics."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from schemas.config.section import Language

CODES: Final[Mapping[Language, str]] = {"en": "en", "pt": "pt-BR"}
"""Of each language the code that a page states."""
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
