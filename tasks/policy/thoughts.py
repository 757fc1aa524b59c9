"""Thought delimiters of Qwen3 and similar models, written before an answer."""

from typing import Final

THINK: Final = "<think>"
END_OF_THOUGHT: Final = "</think>"


def opens_a_thought(opening: str) -> bool:
    """Return whether the opening of an answer leaves a thought open; an empty thought disables thinking in Qwen3."""
    return opening.rfind(THINK) > opening.rfind(END_OF_THOUGHT)
