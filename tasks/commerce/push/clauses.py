"""Clauses of a push: its words with the signs that end a clause or a sentence.

A push says its offer in one clause, or in a few that commas join; what it says elsewhere binds nobody to the offer.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

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


class Clause(NamedTuple):
    """Words between two signs."""

    words: list[str]
    kinds: list[int]
    kind: int
    """The flags of all its words."""
    end: str
    """The sign that ends it."""


def mark_breaks(text: str) -> str:
    """Return a text in which each run of emoji or dashes is the sign that ends a clause."""
    return text if text.isascii() else _BEYOND_LATIN.sub(EMOJI_BREAK, text)


def tokens(folded: str) -> list[str]:
    """Return the words and the breaks of a folded text."""
    return (_ASCII_TOKEN if folded.isascii() else _TOKEN).findall(folded)[:MAX_TOKENS]


def sentences(spelled: Sequence[str], kinds: Mapping[str, int]) -> list[list[Clause]]:
    """Return the clauses, by sentence, of words in uniform notation with their breaks, and the flags of each word."""
    read: list[list[Clause]] = []
    sentence: list[Clause] = []
    start = 0
    for place, word in enumerate([*spelled, END]):
        if word not in BREAKS:
            continue
        if place > start:
            words = list(spelled[start:place])
            of_words = [kinds[each] for each in words]
            kind = 0
            for flags in of_words:
                kind |= flags
            sentence.append(Clause(words, of_words, kind, word))
        if sentence and (place > start and word != COMMA):
            read.append(sentence)
            sentence = []
        start = place + 1
    return [*read, sentence] if sentence else read
