"""Classes of words for `word_order`: a frequent word its own, any other its ending."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).resolve().parents[3] / "data" / "fluency" / "word_order.bin"
EDGE, NUMBER, OTHER = range(3)
"""Classes that every model has: the text's beginning and end, a number, and a word with a rare ending."""
STEP: Final = 24
"""Units of a natural logarithm in one stored weight, which is a byte around `ZERO`."""
ZERO: Final = 128
LONGEST_ENDING: Final = 3


def read_class(word: str, classes: Mapping[str, int]) -> int:
    """Return a word's class among these: its own, or that of its longest known ending."""
    own = classes.get(word)
    if own is not None:
        return own
    if not word.isalpha():
        return NUMBER
    for size in range(LONGEST_ENDING, 0, -1):
        ending = classes.get(f"-{word[-size:]}")
        if ending is not None:
            return ending
    return OTHER
