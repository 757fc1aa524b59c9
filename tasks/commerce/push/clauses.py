"""Clauses of a push: its words with the signs that end a clause or a sentence.

A push says its offer in one clause, or in a few that commas join; what it says elsewhere binds nobody to the offer.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

EMOJI_BREAK: Final = "\xa6"
"""The sign that stands for emoji and dashes, which end a clause as a stop does."""
COMMA: Final = ","
QUESTION: Final = "?"
STOPS: Final = frozenset(".!?:;()\n" + EMOJI_BREAK)
BREAKS: Final = STOPS | {COMMA}
MAX_TOKENS: Final = 400
"""Words and signs that are read; the longest push that earns anything has a quarter of them."""

_BEYOND_LATIN: Final = re.compile(r"[\u2010-\u2bff\U0001f000-\U0001faff]+")
_TOKEN: Final = re.compile(r"r\$|%|\d+(?:[.,]\d+)*|[^\W\d_]+|[.!?;()\n\xa6]|[:,](?!\d)")


class Clause(NamedTuple):
    """Words between two signs."""

    words: list[str]
    end: str
    """The sign that ends it."""


def mark_breaks(text: str) -> str:
    """Return a text in which each run of emoji or dashes is the sign that ends a clause."""
    return text if text.isascii() else _BEYOND_LATIN.sub(EMOJI_BREAK, text)


def tokens(folded: str) -> list[str]:
    """Return the words and the breaks of a folded text."""
    return _TOKEN.findall(folded)[:MAX_TOKENS]


def clauses(spelled: Sequence[str]) -> Iterator[Clause]:
    """Yield the clauses of words in uniform notation with their breaks."""
    start = 0
    for place, word in enumerate(spelled):
        if word in BREAKS:
            if place > start:
                yield Clause(list(spelled[start:place]), word)
            start = place + 1
    if start < len(spelled):
        yield Clause(list(spelled[start:]), ".")


def sentences(spelled: Sequence[str]) -> list[list[Clause]]:
    """Return the clauses by sentence."""
    read: list[list[Clause]] = []
    joined = False
    for clause in clauses(spelled):
        if joined:
            read[-1].append(clause)
        else:
            read.append([clause])
        joined = clause.end == COMMA
    return read
