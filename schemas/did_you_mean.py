"""Question after the word that was meant, for whatever a person misspelt."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question after the known word that is nearest, to stand behind the word; empty where none is near."""
    near = get_close_matches(word, list(known), n=1)
    return question_after(near[0]) if near else ""


def question_after(meant: str) -> str:
    """Return the question whether a word was meant."""
    return f", did you mean {meant!r}?"
