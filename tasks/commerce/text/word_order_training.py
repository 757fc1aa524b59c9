"""Training of `word_order` from the sentences in `data/fluency`: counts, their logarithms, and bytes that stay equal.

    python -m tasks.commerce.text.word_order_training

writes `data/fluency/word_order.bin` and prints its card. Equal sentences give equal bytes.
"""

import hashlib
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from tasks.commerce.text.text_form import fold, folded_words
from tasks.commerce.text.word_classes import EDGE, FILE, LONGEST_ENDING, NUMBER, OTHER, STEP, ZERO, read_class

SOURCES: Final = ("composed.txt", "interfaces.txt", "simulated.txt", "written.txt")
SEED: Final = 20
SHUFFLES: Final = 12
"""Other orders of each sentence that are counted."""
FEWEST_WORDS: Final = 4
WORDS: Final = 880
"""Frequent words with a class of their own."""
ENDINGS: Final = 440
COARSE_WORDS: Final = 44
COARSE_ENDINGS: Final = 42
"""Coarser classes, whose pairs say what to expect of pairs that are rare."""
LIKE_EXPECTED: Final = 12.0
"""Occurrences at which a count weighs as much as what coarser classes expect."""
LARGEST: Final = 4.0
"""Largest logarithm of a weight."""

Pair = tuple[int, int]


def read_sentences(folder: Path) -> list[list[str]]:
    """Return the words of each sentence that is long enough, each text once."""
    texts = (
        fold(line)
        for name in SOURCES
        for line in (folder / name).read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    )
    return [found for text in dict.fromkeys(texts) if len(found := folded_words(text)) >= FEWEST_WORDS]


def _most(counts: Mapping[str, int], size: int) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))[:size]


class Classes:
    """Classes of words, fine and coarse, chosen by how often they occur.

    Args:
        sentences: Words of the sentences.
    """

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        frequency = Counter(word for sentence in sentences for word in sentence)
        spelled = {word: count for word, count in frequency.items() if word.isalpha() or word in ("%", "r$")}
        self.words = _most(spelled, WORDS)
        rare = [word for word in spelled if word not in set(self.words)]
        # By different words: an ending is a part of speech, whatever its commonest word is.
        endings = Counter(
            f"-{word[-size:]}" for word in rare for size in range(1, LONGEST_ENDING + 1) if len(word) > size
        )
        self.endings = _most(endings, ENDINGS)
        names = [*self.words, *self.endings]
        self.by_name = {name: OTHER + 1 + place for place, name in enumerate(names)}
        heads = self.words[:COARSE_WORDS]
        short = Counter[str]()
        for word, count in spelled.items():
            short[word[-2:]] += count if word not in heads else 0
        groups = {name: OTHER + 1 + place for place, name in enumerate([*heads, *_most(short, COARSE_ENDINGS)])}
        tails = {name: place for name, place in groups.items() if name not in heads}
        self.coarse = [EDGE, NUMBER, OTHER]
        for name in names:
            own = groups.get(name) if name in heads else None
            self.coarse.append(own or tails.get(name[-2:], OTHER))

    def of(self, sentence: Iterable[str]) -> list[int]:
        """Return the fine classes of a sentence's words."""
        return [read_class(word, self.by_name) for word in sentence]


class PairCounts:
    """How often neighbours occur in sentences and in the same sentences shuffled."""

    def __init__(self) -> None:
        self._found: Counter[Pair] = Counter()
        self._by_chance: Counter[Pair] = Counter()

    def add(self, classes: Sequence[int], *, shuffled: bool) -> None:
        """Count the neighbours of one sentence."""
        (self._by_chance if shuffled else self._found).update(pairwise(classes))

    def weight(self, key: Pair, expected: float) -> float:
        """Return the logarithm of how much more often a pair is found than by chance, drawn to the expected."""
        found = self._found[key] * SHUFFLES + LIKE_EXPECTED * math.exp(expected)
        return min(max(math.log(found / (self._by_chance[key] + LIKE_EXPECTED)), -LARGEST), LARGEST)


def train(sentences: Sequence[Sequence[str]]) -> bytes:
    """Return the model's bytes."""
    classes = Classes(sentences)
    coarse_of = classes.coarse
    pairs, coarse_pairs = PairCounts(), PairCounts()
    generator = random.Random(SEED)
    for sentence in sentences:
        fine = classes.of(sentence)
        for time in range(SHUFFLES + 1):
            if time:
                generator.shuffle(fine)
            bounded = [EDGE, *fine, EDGE]
            pairs.add(bounded, shuffled=time > 0)
            coarse_pairs.add([coarse_of[each] for each in bounded], shuffled=time > 0)
    kinds = range(max(coarse_of) + 1)
    expected = {(first, second): coarse_pairs.weight((first, second), 0.0) for first in kinds for second in kinds}
    every = range(len(coarse_of))
    weights = (
        pairs.weight((first, second), expected[coarse_of[first], coarse_of[second]])
        for first in every
        for second in every
    )
    header = json.dumps({"words": classes.words, "endings": classes.endings}, separators=(",", ":"))
    return header.encode() + b"\n" + bytes(ZERO + round(weight * STEP) for weight in weights)


def main() -> None:
    """Train the model from the sentences beside it, write it, and print its card."""
    sentences = read_sentences(FILE.parent)
    model = train(sentences)
    FILE.write_bytes(model)
    words = sum(map(len, sentences))
    sys.stdout.write(
        f"{len(sentences)} sentences, {words} words, seed {SEED}, {SHUFFLES} shuffles\n"
        f"{len(model)} bytes, sha256 {hashlib.sha256(model).hexdigest()}\n"
    )


if __name__ == "__main__":
    main()
