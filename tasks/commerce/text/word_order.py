"""Word order: a small model of Brazilian Portuguese that separates sentences from the same words in another order.

Each word has a class: a frequent word its own, any other its ending, which in Portuguese carries its part of speech,
gender and number. The model holds for each pair of neighbours how much more often it occurs in sentences than in the
same sentences shuffled, as a logarithm. So it compares a text with itself in another order: which words a text has
decides nothing, their order all.

`word_order_training` makes it; its card is `data/fluency/README.md`.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from operator import getitem
from typing import Final

from tasks.commerce.text.word_classes import EDGE, FILE, OTHER, read_class

DATA_FILES: Final = ("data/fluency/word_order.bin",)
MAX_KEPT_WORDS: Final = 32_768
LONGEST_KEPT_WORD: Final = 40


class _Memory(dict[str, int]):
    """The classes of words, each found once; few enough to keep whatever words hostile texts bring."""

    def __init__(self, names: Mapping[str, int]) -> None:
        super().__init__()
        self._names = names

    def __missing__(self, word: str) -> int:
        """Return the class of a new word."""
        found = read_class(word, self._names)
        if len(self) < MAX_KEPT_WORDS and len(word) <= LONGEST_KEPT_WORD:
            self[word] = found
        return found


@cache
def _model() -> tuple[_Memory, tuple[bytes, ...]]:
    """Return the classes of words, and for each class the weights of a neighbour on its right: bytes around `ZERO`."""
    header, _, table = FILE.read_bytes().partition(b"\n")
    parts = json.loads(header)
    names = [*parts["words"], *parts["endings"]]
    size = OTHER + 1 + len(names)
    classes = {name: OTHER + 1 + place for place, name in enumerate(names)}
    return _Memory(classes), tuple(table[start : start + size] for start in range(0, size * size, size))


def order(folded_words: Sequence[str]) -> list[int]:
    """Return the evidence of each word, and of the end, for its place, in `STEP`s of a logarithm around `ZERO`."""
    memory, rows = _model()
    classes = [EDGE, *map(memory.__getitem__, folded_words), EDGE]
    return list(map(getitem, map(rows.__getitem__, classes), classes[1:]))
