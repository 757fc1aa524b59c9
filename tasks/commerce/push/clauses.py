"""Clauses of a push: its words with the signs that end a clause or a sentence.

A push says its offer in one clause, or in a few that commas join; what it says elsewhere binds nobody to the offer.
"""

import re
from typing import Final

EMOJI_BREAK: Final = "|"
"""The sign that stands for emoji and dashes, which end a clause as a stop does."""
COMMA: Final = ","
QUESTION: Final = "?"
STOPS: Final = frozenset(".!?:;()\n" + EMOJI_BREAK)
BREAKS: Final = STOPS | {COMMA}
MAX_TOKENS: Final = 400
"""Words and signs that are read; the longest push that earns anything has a quarter of them."""

_BEYOND_LATIN: Final = re.compile(r"[\u2010-\u2bff\U0001f000-\U0001faff]+")
_TOKEN: Final = re.compile(r"r\$|%|\d+(?:[.,]\d+)*|[^\W\d_]+|[.!?;()\n|]|[:,](?!\d)")
_ASCII_TOKEN: Final = re.compile(r"r\$|[a-z]+|%|\d+(?:[.,]\d+)*|[.!?;()\n|]|[:,](?!\d)")


def mark_breaks(text: str) -> str:
    """Return a text in which each run of emoji or dashes is the sign that ends a clause."""
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return _BEYOND_LATIN.sub(EMOJI_BREAK, text)
    return text


def tokens(folded: str) -> list[str]:
    """Return the words and the breaks of a folded text."""
    return (_ASCII_TOKEN if folded.isascii() else _TOKEN).findall(folded)[:MAX_TOKENS]
