"""Text as rewards and checks read it, thousands a second: folded, in words, and whether it declines."""

import re
import unicodedata
from collections.abc import Collection
from typing import Final

from tasks.commerce.text.lexicons import read_lexicon

DATA_FILES: Final = (
    "data/lexicons/closed_class_words.txt",
    "data/lexicons/function_words.txt",
    "data/lexicons/refusals.txt",
)
MAX_CHARACTERS: Final = 4_000
"""Characters of prose that are read; the longest right answer has a tenth of it."""
KEPT_PROMPTS: Final = 4_096  # Number of cached prompts and references, as each has many answers.

_ANY_WORD: Final = re.compile(r"r\$|%|\d+(?:[.,]\d+)*|[^\W\d_]+")
# Begins with one class, which is found faster than alternatives are: `r\$|[a-z]+|\d+(?:[.,]\d+)*|%`.
_ASCII_WORD: Final = re.compile(
    r"[a-z0-9%](?:(?<=[a-qs-z])[a-z]*|(?<=r)(?:\$|[a-z]*)|(?<=\d)\d*(?:[.,]\d+)*|)", re.ASCII
)
_BEYOND_LATIN: Final = re.compile(r"[^\W\x00-\xff]|[\u0300-\u036f]")
_NOT_LATIN: Final = re.compile(r"[^\x00-\xff]+")


def _without_accent(code: int) -> int:
    if not chr(code).isalpha():
        return 32 if chr(code).isspace() and code > 127 else code
    letter = ord(unicodedata.normalize("NFKD", chr(code).lower())[0])
    return letter if letter < 256 else code


_FOLDED_LATIN: Final = bytes(_without_accent(code) for code in range(256))
"""The folded form of each Latin-1 character, which covers all of Portuguese."""


def fold(text: str) -> str:
    """Return the text in lower case without accents; signs and emoji outside Latin-1 become spaces."""
    if text.isascii():
        return text.lower()
    try:
        latin = text.encode("latin-1")
    except UnicodeEncodeError:
        if _BEYOND_LATIN.search(text):
            decomposed = unicodedata.normalize("NFKD", text).lower()
            return "".join(character for character in decomposed if not unicodedata.combining(character))
        latin = _NOT_LATIN.sub(" ", text).encode("latin-1")
    return latin.translate(_FOLDED_LATIN).decode("latin-1")


def words(text: str) -> list[str]:
    """Return a text's folded words, numbers, and the signs `r$` and `%`."""
    return folded_words(fold(text))


def folded_words(folded: str) -> list[str]:
    """Return the `words` of a folded text."""
    return (_ASCII_WORD if folded.isascii() else _ANY_WORD).findall(folded)


class Phrases:
    """Phrases of a word list, matched in folded text as whole words."""

    def __init__(self, lexicon: str, where: str = r"(?<![a-z])") -> None:
        self._by_first_word: dict[str, tuple[tuple[str, re.Pattern[str]], ...]] = {}
        for phrase in map(fold, read_lexicon(lexicon)):
            first, end = folded_words(phrase)[0], r"(?![a-z])" if phrase[-1].isalpha() else ""
            pattern = re.compile(rf"{where}{re.escape(phrase)}{end}")
            self._by_first_word[first] = (*self._by_first_word.get(first, ()), (phrase, pattern))

    def are_in(self, folded: str, words_there: Collection[str]) -> bool:
        """Return whether any phrase occurs in a folded text of these words."""
        # Few texts contain even the first word of a phrase, and a set lookup is faster than a pattern.
        return any(
            phrase in folded and pattern.search(folded)
            for first in self._by_first_word.keys() & words_there
            for phrase, pattern in self._by_first_word[first]
        )


APOLOGIES: Final = Phrases("refusals", r"^\W*(?:[a-z]+[,!.] )?")
"""Beginnings of a refusal, which texts with content may share."""
REFUSAL_REACH: Final = 200  # Characters at a text's beginning that are searched for a refusal.
_DECLINES: Final = re.compile(
    r"(?<![a-z])(?:nao (?:posso|consigo|vou|devo|poderei|poderia|e possivel|tenho como|sei como|estou autorizad[oa] a)"
    r"|recuso a|impossivel) (?:[a-z]+ ){0,2}"
    r"(?:ajud|cri|escrev|faz|ger|analis|respond|fornec|atend|redig|produz|avali|acess|prev|continu|cumpr|realiz|complet)"
)
"""Refusals in any context: they state that the task itself cannot be done."""

FUNCTION_WORDS: Final = frozenset(fold(word) for word in read_lexicon("function_words"))
CLOSED_CLASS: Final = FUNCTION_WORDS | {fold(word) for word in read_lexicon("closed_class_words")}
"""Articles, prepositions, pronouns and the like."""


def content_words(text: str) -> list[str]:
    """Return the words with meaning, each once, in order."""
    return list(dict.fromkeys(word for word in words(text) if word not in FUNCTION_WORDS))


def refuses(text: str) -> bool:
    """Return whether a text begins by declining the task, explicitly or by an apology without a number after it."""
    folded = fold(text)
    there, beginning = folded_words(folded), folded[:REFUSAL_REACH]
    is_apology = not any(word[0].isdigit() for word in there) and APOLOGIES.are_in(beginning, there)
    return is_apology or _DECLINES.search(beginning) is not None


def ramp(value: float, worst: float, best: float) -> float:
    """Grade a value linearly: 0 at `worst` and beyond, 1 at `best` and beyond."""
    share = (value - worst) / (best - worst)
    return share if 0.0 <= share < 1.0 else float(share > 0.0)
