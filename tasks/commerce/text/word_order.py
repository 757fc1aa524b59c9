"""Word order: a small model of Brazilian Portuguese that separates sentences from the same words in another order.

Each word has a class: a frequent word its own, any other its ending, which in Portuguese carries its part of speech,
gender and number. The model holds, for each pair of neighbours, how much more often it occurs in sentences than in the
same sentences shuffled, as a logarithm, and for each three of coarser classes what they add to their two pairs. So it
compares a text with itself in another order: which words a text has decides nothing, their order all.

`word_order_training` makes it; its card is `data/fluency/README.md`.
"""

import json
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from tasks.commerce.text.word_classes import EDGE, FILE, OTHER, ZERO, read_class

DATA_FILES: Final = ("data/fluency/word_order.bin",)



class _Model(NamedTuple):
    """The file's parts; weights are bytes around `ZERO`."""

    classes: dict[str, int]
    """Classes by frequent words, and by endings with a hyphen before them."""
    coarse: bytes
    """The coarse class of each class."""
    coarse_count: int
    pairs: bytes
    triples: bytes


@cache
def _model() -> _Model:
    header, _, tables = FILE.read_bytes().partition(b"\n")
    parts = json.loads(header)
    coarse = bytes(parts["coarse"])
    classes = {name: OTHER + 1 + place for place, name in enumerate([*parts["words"], *parts["endings"]])}
    return _Model(classes, coarse, max(coarse) + 1, tables[: len(coarse) ** 2], tables[len(coarse) ** 2 :])


@lru_cache(maxsize=32_768)
def _class_of(word: str) -> int:
    return read_class(word, _model().classes)


def order(folded_words: Sequence[str]) -> list[int]:
    """Return the evidence of each word, and of the end, for its place: positive in sentences, in parts of `STEP`."""
    _, coarse_of, count, pairs, triples = _model()
    classes = [EDGE, *map(_class_of, folded_words), EDGE]
    coarse = [coarse_of[each] for each in classes]
    size = len(coarse_of)
    weights = [pairs[first * size + second] - ZERO for first, second in pairwise(classes)]
    added = [
        triples[(first * count + second) * count + third] - ZERO
        for first, second, third in zip(coarse, coarse[1:], coarse[2:], strict=False)
    ]
    # A triple counts half: what it adds is drawn from few sentences.
    return [weight + (more >> 1) for weight, more in zip(weights, (*added, 0), strict=True)]
