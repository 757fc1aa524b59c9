"""What makes an answer in prose an answer at all: it is Portuguese, its own, and no refusal."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

from tasks.commerce.lexicons import read_lexicon

MAX_CHARACTERS: Final = 4_000
"""Prose is read this far; the longest right answer has a tenth of it."""
RUN: Final = 5
"""Words in a row that two texts share by copying rather than by chance."""

_WORD: Final = re.compile(r"r\$|%|\d+(?:[.,]\d+)*|[^\W\d_]+")


def fold(text: str) -> str:
    """Return the text in small letters without accents."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def words(text: str) -> list[str]:
    """Return a text's folded words, numbers, and the signs `r$` and `%`."""
    return _WORD.findall(fold(text))


def any_of(lexicon: str) -> re.Pattern[str]:
    """Return a pattern for folded text that finds any phrase of a word list, from the beginning of a word."""
    phrases = "|".join(re.escape(fold(phrase)) for phrase in read_lexicon(lexicon))
    return re.compile(rf"(?<![a-z])(?:{phrases})")


FUNCTION_WORDS: Final = frozenset(fold(word) for word in read_lexicon("function_words"))
_REFUSAL: Final = any_of("refusals")
_CHATTER: Final = any_of("chatter")


def content_words(text: str) -> list[str]:
    """Return the words that carry a text's meaning, each once, in order."""
    return list(dict.fromkeys(word for word in words(text) if word not in FUNCTION_WORDS))


def labels(text: str) -> list[str]:
    """Return the content words that are no numbers: what a number belongs to, and its sign."""
    return [word for word in content_words(text) if not word[0].isdigit()]


def matches(word: str, other: str) -> bool:
    """Tell whether two folded words are forms of one, such as `brinquedo` and `brinquedos`."""
    if word == other:
        return True
    stem = max(4, min(len(word), len(other)) - 2)
    return word.isalpha() and other.isalpha() and len(word) >= stem and word[:stem] == other[:stem]


def share_present(wanted: Sequence[str], found: Iterable[str]) -> float:
    """Return the part of the wanted words, in [0, 1], that is among those found; 1 where none is wanted."""
    present = set(found)
    if not wanted:
        return 1.0
    hits = sum(word in present or any(matches(word, other) for other in present) for word in wanted)
    return hits / len(wanted)


def runs(folded_words: Sequence[str]) -> set[tuple[str, ...]]:
    """Return every run of `RUN` words."""
    return {tuple(folded_words[start : start + RUN]) for start in range(len(folded_words) - RUN + 1)}


@lru_cache(maxsize=1_024)
def runs_of(text: str) -> frozenset[tuple[str, ...]]:
    """Return the runs of a prompt; kept, as each prompt has many answers."""
    return frozenset(runs(words(text[:MAX_CHARACTERS])))


def originality(folded_words: Sequence[str], *sources: str) -> float:
    """Grade how much of an answer is its own, in [0, 1]: 1 up to half copied, 0 from nine tenths on.

    Args:
        folded_words: The answer's `words`.
        sources: The texts that it may have copied: prompt and system prompt.
    """
    own = runs(folded_words)
    if not own:
        return 1.0
    copied = set().union(*(own & runs_of(source) for source in sources))
    return ramp(len(copied) / len(own), 0.9, 0.5)


def fluency(folded_words: Sequence[str]) -> float:
    """Grade whether words make Portuguese sentences, in [0, 1].

    Sentences need articles and prepositions, which a heap of keywords or another language lacks (0 below a twentieth,
    1 from a ninth on), and seldom go on for long without one (1 up to six words, 0 from ten on); and they seldom
    repeat themselves (0 where a third of the words is new, 1 from a half).
    """
    letters = [word for word in folded_words if word.isalpha()]
    if not letters:
        return 0.0
    binding = [word in FUNCTION_WORDS for word in letters]
    longest = max((len(list(group)) for binds, group in groupby(binding) if not binds), default=0)
    novelty = len(set(letters)) / len(letters)
    return ramp(sum(binding) / len(letters), 0.05, 0.11) * ramp(longest, 10, 6) * ramp(novelty, 0.33, 0.5)


def refuses(text: str) -> bool:
    """Tell whether a text begins by declining the task."""
    return bool(_REFUSAL.search(fold(text[:200])))


def chatters(text: str) -> bool:
    """Tell whether a text speaks to whoever asked instead of being the answer."""
    return bool(_CHATTER.search(fold(text[:MAX_CHARACTERS])))


def ramp(value: float, worst: float, best: float) -> float:
    """Grade a value linearly: 0 at `worst` and beyond, 1 at `best` and beyond."""
    return min(max((value - worst) / (best - worst), 0.0), 1.0)


def overlap(text: str, reference: str) -> float:
    """Return the F1 of two texts' content words, in [0, 1]; two empty texts agree."""
    found, wanted = content_words(text[:MAX_CHARACTERS]), content_words(reference)
    if not found and not wanted:
        return 1.0
    if not found or not wanted:
        return 0.0
    return 2 * len(set(found) & set(wanted)) / (len(found) + len(wanted))
