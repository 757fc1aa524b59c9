"""Clauses of a push: its words with the signs that end a clause or a sentence.

A push says its offer in one clause, or in a few that commas join; what it says elsewhere binds nobody to the offer.
"""

import re
from collections.abc import Sequence
from typing import Final

EMOJI_BREAK: Final = "|"
"""The sign that stands for emoji and dashes, which end a clause as a stop does."""
COMMA: Final = ","
QUESTION: Final = "?"
END: Final = "."
STOPS: Final = frozenset(".!?:;()\n" + EMOJI_BREAK)
BREAKS: Final = STOPS | {COMMA}
MAX_TOKENS: Final = 400
"""Words and signs that are read; the longest push that earns anything has a quarter of them."""

_BEYOND_LATIN: Final = re.compile(r"[\u2010-\u2bff\U0001f000-\U0001faff]+")
_TOKEN: Final = re.compile(r"r\$|%|\d+(?:[.,]\d+)*|[^\W\d_]+|[.!?;()\n|]|[:,](?!\d)")
_ASCII_TOKEN: Final = re.compile(r"r\$|[a-z]+|%|\d+(?:[.,]\d+)*|[.!?;()\n|]|[:,](?!\d)")


Clause = tuple[list[str], str]
"""Words between two signs, and the sign that ends them."""


def mark_breaks(text: str) -> str:
    """Return a text in which each run of emoji or dashes is the sign that ends a clause."""
    return text if text.isascii() else _BEYOND_LATIN.sub(EMOJI_BREAK, text)


def tokens(folded: str) -> list[str]:
    """Return the words and the breaks of a folded text."""
    return (_ASCII_TOKEN if folded.isascii() else _TOKEN).findall(folded)[:MAX_TOKENS]


def sentences(spelled: Sequence[str]) -> list[list[Clause]]:
    """Return the clauses, by sentence, of words in uniform notation with their breaks."""
    read: list[list[Clause]] = []
    sentence: list[Clause] = []
    clause: list[str] = []
    for word in spelled:
        if word not in BREAKS:
            clause.append(word)
        elif clause:
            sentence.append((clause, word))
            clause = []
            if word != COMMA:
                read.append(sentence)
                sentence = []
    if clause:
        sentence.append((clause, END))
    if sentence:
        read.append(sentence)
    return read
