"""Values of words that are found once and looked up from then on, as texts share most of their words."""

from collections.abc import Callable
from typing import Final, TypeVar

MAX_KEPT_WORDS: Final = 32_768
"""Number of kept words, as hostile texts bring new ones without end."""
LONGEST_KEPT_WORD: Final = 40
"""Letters; nearly twice those of the longest word of a shop."""

Value = TypeVar("Value")


class Remembered(dict[str, Value]):
    """The value of each word; a lookup is a dictionary's, which is faster than a call of a cached function.

    Args:
        find: Finds the value of a new word.
    """

    def __init__(self, find: Callable[[str], Value]) -> None:
        super().__init__()
        self._find = find
        self.cache_clear = self.clear
        """Forgets all values, as `cache_clear` of a cached function does; the class has none to be called by itself."""

    def __missing__(self, word: str) -> Value:
        """Find the value of a new word."""
        value = self._find(word)
        if len(word) <= LONGEST_KEPT_WORD:
            if len(self) >= MAX_KEPT_WORDS:
                self.clear()
            self[word] = value
        return value
