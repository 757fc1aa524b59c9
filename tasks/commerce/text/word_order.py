"""Word order: a small model of Brazilian Portuguese that separates sentences from the same words in another order.

Each word has a class: a frequent word its own, any other its ending, which in Portuguese carries its part of speech,
gender and number. The model holds, for each pair of neighbours, how much more often it occurs in sentences than in the
same sentences shuffled, as a logarithm, and for each three of coarser classes what they add to their two pairs. So it
compares a text with itself in another order: which words a text has decides nothing, their order all.

`word_order_training` makes it; its card is `data/fluency/README.md`.
"""

import json
from array import array
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain
from operator import add
from typing import Final, NamedTuple

from tasks.commerce.text.word_classes import EDGE, FILE, OTHER, ZERO, read_class

DATA_FILES: Final = ("data/fluency/word_order.bin",)


class _Model(NamedTuple):
    """The file's tables, unpacked for look-ups that run without a Python loop."""

    classes: dict[str, int]
    """Classes by frequent words, and by endings with a hyphen before them."""
    rows: list[int]
    """Where the row of a class begins in `pairs`."""
    places: tuple[list[int], list[int], list[int]]
    """By the class of the first, second and third word: parts of the index in `triples`."""
    pairs: "array[int]"
    triples: "array[int]"
    """Halved: what they add is drawn from few sentences."""


@cache
def _model() -> _Model:
    header, _, tables = FILE.read_bytes().partition(b"\n")
    parts = json.loads(header)
    coarse = parts["coarse"]
    names = [*parts["words"], *parts["endings"]]
    size, count = len(coarse), max(coarse) + 1
    signed = bytes((weight - ZERO) % 256 for weight in range(256))
    halved = bytes(((weight - ZERO) >> 1) % 256 for weight in range(256))
    return _Model(
        {name: OTHER + 1 + place for place, name in enumerate(names)},
        [size * each for each in range(size)],
        ([count * count * each for each in coarse], [count * each for each in coarse], coarse),
        array("b", tables[: size * size].translate(signed)),
        array("b", tables[size * size :].translate(halved)),
    )


@lru_cache(maxsize=32_768)
def _class_of(word: str) -> int:
    return read_class(word, _model().classes)


def order(folded_words: Sequence[str]) -> list[int]:
    """Return the evidence of each word, and of the end, for its place: positive in sentences, in parts of `STEP`."""
    _, rows, (first, second, third), pairs, triples = _model()
    classes = list(map(_class_of, folded_words))
    before, after = [EDGE, *classes], [*classes, EDGE]
    by_pair = map(pairs.__getitem__, map(add, map(rows.__getitem__, before), after))
    bounded = (map(first.__getitem__, before), map(second.__getitem__, after), map(third.__getitem__, after[1:]))
    by_triple = map(triples.__getitem__, map(add, map(add, bounded[0], bounded[1]), bounded[2]))
    return [*map(add, by_pair, chain(by_triple, (0,)))]
