"""Markdown tables and lists that show any text literally, for the report and the model card."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from schemas.shown_text import as_shown

# An underscore between letters or digits, as in sql_qa, is never markup.
_MARKUP: Final = re.compile(r"[\\`*\[\]<>|~#&$]|(?<![^\W_])_|_(?![^\W_])")


def escaped(text: str) -> str:
    """Return a text on one line without any active Markdown, even if it is hostile."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", " ".join(as_shown(text).split()))


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    """Return a table of texts, which are escaped.

    Args:
        header: One for each column.
        rows: As many cells each.
        words: Number of leading, left-aligned columns of words; the others hold numbers.
    """
    rule = ["---"] * words + ["---:"] * (len(header) - words)
    lines = [[escaped(cell) for cell in header], rule, *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(sentences: Iterable[str]) -> str:
    """Return a list of sentences, which are escaped."""
    return "\n".join(f"- {escaped(sentence)}" for sentence in sentences)
