"""Markdown that shows any text as it is: the report's and the model card's tables and lists."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from schemas.shown_text import as_shown

# An underscore between letters or digits, as in sql_qa, is never markup.
_MARKUP: Final = re.compile(r"[\\`*\[\]<>|~#&$]|(?<![^\W_])_|_(?![^\W_])")


def escaped(text: str) -> str:
    """Return a text on one line that no reader of Markdown takes for markup, a hostile one too."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", " ".join(as_shown(text).split()))


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    """Return a table of texts, which are escaped.

    Args:
        header: One for each column.
        rows: As many cells each.
        words: How many columns, the first ones, hold words and stand on the left; the others hold numbers.
    """
    rule = ["---"] * words + ["---:"] * (len(header) - words)
    lines = [[escaped(cell) for cell in header], rule, *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(sentences: Iterable[str]) -> str:
    """Return a list of sentences, which are escaped."""
    return "\n".join(f"- {escaped(sentence)}" for sentence in sentences)
