"""Measures of review texts: how many are equal, how rich their words are, and whether they contradict their stars."""

import random
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

POLARITY: Final = Path(__file__).with_name("polarity.toml")
SAMPLES: Final = 9
"""Samples of which the median is taken, since a few long texts decide the words of a small one."""


def bare(text: str) -> str:
    """Return a text without accents."""
    return "".join(letter for letter in unicodedata.normalize("NFD", text) if unicodedata.category(letter) != "Mn")


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case and without accents."""
    return re.findall(r"[a-z]+", bare(text).lower())


def equal_share(texts: Sequence[str]) -> float:
    """Return the share of texts that say to the letter what an earlier one said."""
    return 1 - len(set(texts)) / len(texts)


def word_types(texts: Sequence[str], tokens: int, seed: int) -> int:
    """Return the different words among so many, without accents and capitals; the median of several samples."""
    counts = []
    for number in range(SAMPLES):
        found: list[str] = []
        for text in random.Random(f"{seed}:{number}").sample(texts, len(texts)):
            found += words(text)
            if len(found) >= tokens:
                break
        counts.append(len(set(found[:tokens])))
    return sorted(counts)[SAMPLES // 2]


def share_with(texts: Sequence[str], phrase: str) -> float:
    """Return the share of texts with a phrase, without accents and capitals."""
    return sum(phrase in " ".join(words(text)) for text in texts) / len(texts)


def misspelled_share(texts: Sequence[str], misspellings: Iterable[str]) -> float:
    """Return the share of texts with one of these spellings, to the letter but for capitals."""
    known = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, misspellings), key=len, reverse=True))})\b")
    return sum(known.search(text.lower()) is not None for text in texts) / len(texts)


def contradicts(text: str, stars: int) -> bool:
    """Return whether a text only praises what has one or two stars, or only blames what has four or five."""
    plain = " ".join(bare(text).lower().split())
    if stars <= 2:
        return _has("praise", plain) and not _has("blame", plain)
    return stars >= 4 and _has("severe", plain) and not _has("praise", plain) and not _has("forgiving", plain)


def contradicting_share(reviews: Iterable[tuple[str, int]]) -> float:
    """Return the share of reviews, each a text and its stars, that contradict themselves."""
    found = [contradicts(text, stars) for text, stars in reviews]
    return sum(found) / len(found)


def _has(kind: str, plain: str) -> bool:
    return _patterns()[kind].search(plain) is not None


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    lists = tomllib.loads(POLARITY.read_text(encoding="utf-8"))
    return {kind: re.compile(rf"\b(?:{'|'.join(patterns)})") for kind, patterns in lists.items()}
