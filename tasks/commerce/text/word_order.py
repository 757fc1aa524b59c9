"""Word order: a small model of Brazilian Portuguese that separates sentences from the same words in another order.

Each word has a class: a frequent word its own, any other its ending, which in Portuguese carries its part of speech,
gender and number. The model holds for each pair of neighbours how much more often it occurs in sentences than in the
same sentences shuffled, as a logarithm. So it compares a text with itself in another order: which words a text has
decides nothing, their order all.

`word_order_training` makes it; its card is `data/fluency/README.md`.
"""

import json
from collections.abc import Sequence
from functools import cache
from operator import getitem
from typing import Final

from tasks.commerce.text.remembered import Remembered
from tasks.commerce.text.word_classes import EDGE, FILE, OTHER, read_class

DATA_FILES: Final = ("data/fluency/word_order.bin",)


@cache
def _model() -> tuple[Remembered[int], tuple[bytes, ...]]:
    """Return the classes of words, and for each class the weights of a neighbour on its right: bytes around `ZERO`."""
    header, _, table = FILE.read_bytes().partition(b"\n")
    parts = json.loads(header)
    names = [*parts["words"], *parts["endings"]]
    size = OTHER + 1 + len(names)
    classes = {name: OTHER + 1 + place for place, name in enumerate(names)}
    memory = Remembered[int](lambda word: read_class(word, classes))
    return memory, tuple(table[start : start + size] for start in range(0, size * size, size))


def order(folded_words: Sequence[str]) -> list[int]:
    """Return the evidence of each word, and of the end, for its place, in `STEP`s of a logarithm around `ZERO`."""
    memory, rows = _model()
    classes = [EDGE, *map(memory.__getitem__, folded_words), EDGE]
    return list(map(getitem, map(rows.__getitem__, classes), classes[1:]))
