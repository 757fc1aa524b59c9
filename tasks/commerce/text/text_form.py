"""Prose checks common to answers: Portuguese, original, and no refusal.

Rewards read thousands of texts a second: a text is folded and split into words once, data of a prompt or a reference is
cached, and a word list is checked by its first words before any pattern is run.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.remembered import Remembered
from tasks.commerce.text.word_classes import STEP, ZERO
from tasks.commerce.text.word_order import order

DATA_FILES: Final = (
    "data/lexicons/chatter.txt",
    "data/lexicons/closed_class_words.txt",
    "data/lexicons/english_text.txt",
    "data/lexicons/english_words.txt",
    "data/lexicons/function_words.txt",
    "data/lexicons/refusals.txt",
    "data/lexicons/spanish_words.txt",
)
MAX_CHARACTERS: Final = 4_000
"""Characters of prose that are read; the longest right answer has a tenth of it."""
RUN: Final = 5
"""Consecutive words that two texts share by copying rather than by chance."""
_STARTS: Final = tuple(slice(start, None) for start in range(RUN))
KEPT_PROMPTS: Final = 4_096
"""Number of cached prompts and references, as each has many answers."""

FEWEST_ORDERED: Final = 6
"""Words up to which any order may be one of a title's."""
PART: Final = 24
"""Words of a part of a long text, whose order must be right by itself."""
DOUBT: Final = 4.2
DOUBT_A_WORD: Final = 0.2
"""Evidence against the order of words, as logarithms, up to which a text is a sentence."""
DOUBT_OF_A_PART: Final = 4.0
"""Evidence more against the worst of many parts."""
SALAD: Final = 0.4
SALAD_A_WORD: Final = 0.04
"""Further evidence from which on it is none."""

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
    """Phrases of a word list, matched in folded text as whole words.

    Args:
        lexicon: The word list.
        where: Pattern required before a phrase.
    """

    def __init__(self, lexicon: str, where: str = r"(?<![a-z])") -> None:
        self._by_first_word: dict[str, tuple[tuple[str, re.Pattern[str]], ...]] = {}
        for phrase in map(fold, read_lexicon(lexicon)):
            first = folded_words(phrase)[0]
            end = r"(?![a-z])" if phrase[-1].isalpha() else ""
            pattern = re.compile(rf"{where}{re.escape(phrase)}{end}")
            self._by_first_word[first] = (*self._by_first_word.get(first, ()), (phrase, pattern))
        self._first_words = frozenset(self._by_first_word)
        self.phrases = tuple(map(fold, read_lexicon(lexicon)))

    def are_in(self, folded: str, words_there: Collection[str]) -> bool:
        """Return whether any phrase occurs in a folded text of these words."""
        # Few texts contain even the first word of a phrase, and a set lookup is faster than a pattern.
        if self._first_words.isdisjoint(words_there):
            return False
        return any(
            phrase in folded and pattern.search(folded)
            for first in self._first_words.intersection(words_there)
            for phrase, pattern in self._by_first_word[first]
        )


_SENTENCE_START: Final = r"(?:^|[\n.!?:])[\s*\"'#>]*"
APOLOGIES: Final = Phrases("refusals", r"^\W*(?:[a-z]+[,!.] )?")
"""Beginnings of a refusal, which texts with content may share."""
CHATTER: Final = Phrases("chatter", _SENTENCE_START)
REFUSAL_REACH: Final = 200
"""Characters at a text's beginning that are searched for a refusal."""
_DECLINES: Final = re.compile(
    r"(?<![a-z])(?:nao (?:posso|consigo|vou|devo|poderei|poderia|e possivel|tenho como|sei como|estou autorizad[oa] a)"
    r"|recuso a|impossivel) (?:[a-z]+ ){0,2}"
    r"(?:ajud|cri|escrev|faz|ger|analis|respond|fornec|atend|redig|produz|avali|acess|prev|continu|cumpr|realiz|complet)"
)
"""Refusals in any context: they state that the task itself cannot be done."""
DECLINING_WORDS: Final = frozenset(
    (
        *("posso", "consigo", "vou", "devo", "poderei", "poderia", "possivel", "tenho", "sei", "autorizado"),
        *("autorizada", "recuso", "impossivel"),
    )
)
"""Words without which nothing is refused so."""

FUNCTION_WORDS: Final = frozenset(fold(word) for word in read_lexicon("function_words"))
_BINDS, _FOREIGN, _CARRIES, _COUNTS, _PREPOSITION, _ARTICLE = "bfcnpa"
_PREPOSITIONS: Final = frozenset(
    ("em", "com", "sem", "para", "pra", "pelo", "pela", "do", "no", "nos", "nas", "ao", "de")
)
_KINDS: Final = (
    dict.fromkeys(map(fold, read_lexicon("spanish_words")), _FOREIGN)
    | dict.fromkeys((*read_lexicon("english_words"), *read_lexicon("english_text")), _FOREIGN)
    | dict.fromkeys(map(fold, read_lexicon("closed_class_words")), _BINDS)
    | dict.fromkeys(FUNCTION_WORDS, _BINDS)
    | dict.fromkeys(_PREPOSITIONS, _PREPOSITION)
    | dict.fromkeys(("o", "os", "um"), _ARTICLE)
)
_UNBOUND: Final = re.compile(f"[{_FOREIGN}{_CARRIES}]{{8}}")
"""So many words in a row that bind nothing are more than most sentences have."""
_LETTERS: Final = Remembered[str](lambda word: _KINDS.get(word, _CARRIES) if word.isalpha() else "")
"""The kind of each word; none of a number or sign."""
_CLASHES: Final = frozenset(
    pair
    for before in _PREPOSITIONS | {"o", "os"}
    for pair in ((before, after) for after in _PREPOSITIONS | {"por"})
    # `Os de São Paulo`, `o com a maior nota`, `o por que`, `dê para`, `no Pará`: these occur.
    if (pair[0] not in ("o", "os", "de") or pair[1] in ("para", "pra", "ao", "pelo", "pela"))
    and pair not in (("no", "para"), ("do", "para"))
    # `O dobro do de São Paulo`, `igual ao do mês passado`: these stand for a noun; `do do` is a slip.
    and pair not in (("do", "de"), ("no", "de"), ("ao", "de"), ("no", "do"), ("ao", "do"))
)
"""Prepositions and articles that no sentence has side by side."""


def content_words(text: str) -> list[str]:
    """Return the words with meaning, each once, in order."""
    return list(dict.fromkeys(word for word in words(text) if word not in FUNCTION_WORDS))


def labels(text: str) -> list[str]:
    """Return the content words that are no numbers: the words that a number belongs to, and its sign."""
    return [word for word in content_words(text) if not word[0].isdigit()]


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Return the common stem of a folded word's forms: `brinquedo` and `brinquedos`, `criativos` and `criativas`."""
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("ns"):
        return f"{word[:-2]}m"
    if word.endswith("is"):
        return f"{word[:-2]}l" if word[-3] in "aeou" else f"{word[:-1]}l"
    root = word.removesuffix("s")
    root = root[:-2] if root.endswith(("ao", "oe")) else root
    return root[:-1] if len(root) > 4 and root[-1] in "aeo" else root


_SETS: Final = (set, frozenset)


def share_present(wanted: Sequence[str], found: Iterable[str]) -> float:
    """Return the share of the wanted words, in [0, 1], found in any form; 1 if none is wanted."""
    if not wanted:
        return 1.0
    present = found if type(found) in _SETS else set(found)
    missing = [word for word in wanted if word not in present]
    if not missing:
        return 1.0
    stems = {stem(word) for word in present}
    return 1 - sum(stem(word) not in stems for word in missing) / len(wanted)


def _runs(folded: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return zip(*map(folded.__getitem__, _STARTS), strict=False)


@lru_cache(maxsize=KEPT_PROMPTS)
def _runs_of(sources: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    return frozenset().union(*(_runs(words(source[:MAX_CHARACTERS])) for source in sources))


def originality(folded_words: Sequence[str], *sources: str) -> float:
    """Grade the original share of an answer, in [0, 1]: 1 up to half copied, 0 from nine tenths on.

    Args:
        folded_words: The answer's `words`.
        sources: Texts that it may have copied: prompt and system prompt.
    """
    theirs = _runs_of(sources)
    if theirs.isdisjoint(_runs(folded_words)):
        return 1.0
    own = set(_runs(folded_words))
    return ramp(len(own & theirs) / len(own), 0.9, 0.5)


def fluency(folded_words: Sequence[str]) -> float:
    """Grade whether words make Portuguese sentences, in [0, 1].

    Sentences need articles, prepositions and pronouns, which a heap of keywords or another language lacks (0 below a
    twentieth, 1 from a ninth on), and seldom continue for long without one (1 up to seven words, 0 from eleven on);
    they seldom repeat themselves (0 if three words in ten are new, 1 from 42 in a hundred); few of their words are
    English or Spanish, whose `a`, `as` and `do` would pass for Portuguese; no two prepositions are adjacent (a half for
    each that is, 0 from two on); and from six words on their order is one of Portuguese (`word_order`, by the whole and
    by the worst part of a long text).

    Of sentences with all their words shuffled, .3 or less is left to 81 % of 10 to 14 words, 94 % of 15 to 24 and 98 %
    of 25 and more (real reviews), to 85 % of good pushes, 71 % of good reasons of churn and all good analyses; order
    alone lowers 1 % of real reviews, and 98 % of them keep 1, as do all good answers. Gamed by a shuffle of fewer than
    ten words, of which it sees six in ten (two in ten below seven), by words that are moved as whole phrases, by a heap
    of six words with one that binds, and by fluent nonsense: it does not know what words mean.
    """
    kinds = "".join(map(_LETTERS.__getitem__, folded_words))
    letters = len(kinds)
    if not letters:
        return 0.0
    clashes = 0
    if "pp" in kinds or "ap" in kinds:
        clashes = sum(map(_CLASHES.__contains__, pairwise(folded_words)))
    kinds = kinds.replace(_PREPOSITION, _BINDS).replace(_ARTICLE, _BINDS)
    longest = max(map(len, kinds.split(_BINDS))) if _UNBOUND.search(kinds) else 0
    novelty = 1.0
    if 2 * (len(folded_words) - len(set(folded_words))) > letters:
        novelty = len(set(filter(_LETTERS.__getitem__, folded_words))) / letters
    binding = ramp(kinds.count(_BINDS) / letters, 0.05, 0.11)
    sentences = binding * ramp(longest, 11, 7) * ramp(novelty, 0.3, 0.42) * _portuguese(kinds)
    if clashes:
        sentences *= max(1 - clashes / 2, 0.0)
    return sentences * _in_order(folded_words) if sentences and letters >= FEWEST_ORDERED else sentences


def _in_order(folded_words: Sequence[str]) -> float:
    """Grade the order of words by `word_order`: of the whole text, and of a long text's worst part."""
    evidence = order(folded_words)
    count = len(evidence)
    grade = _ordered(sum(evidence), count)
    if count > 2 * PART:
        parts = range(0, count - PART, PART // 2)
        worst = min(sum(evidence[start : start + PART]) for start in parts)
        grade = min(grade, _ordered(worst + STEP * DOUBT_OF_A_PART, PART))
    return grade


def _ordered(evidence: float, count: int) -> float:
    against = count * (ZERO / STEP - DOUBT_A_WORD) - evidence / STEP - DOUBT
    return 1.0 if against <= 0 else max(1 - against / (SALAD + SALAD_A_WORD * count), 0.0)


def brevity(folded_words: Sequence[str]) -> float:
    """Grade whether words are notes, in [0, 1]: Portuguese, and never long without a number or a function word.

    One up to five words in a row, nothing from nine on. Notes are no prose, but unlike a heap of keywords they have
    content.
    """
    kinds = "".join([_LETTERS[word] or _COUNTS for word in folded_words])
    kinds = kinds.replace(_PREPOSITION, _BINDS).replace(_ARTICLE, _BINDS)
    longest = max(map(len, kinds.replace(_COUNTS, _BINDS).split(_BINDS)))
    return ramp(longest, 9, 5) * _portuguese(kinds) if kinds else 0.0


def _portuguese(kinds: str) -> float:
    foreign = kinds.count(_FOREIGN)
    return ramp(foreign / len(kinds), 0.2, 0.08) if foreign > 1 else 1.0


def refuses(text: str) -> bool:
    """Return whether a text begins by declining the task; a number after that means it was not declined."""
    folded = fold(text)
    text_words = folded_words(folded)
    return declines(folded, text_words, any(word[0].isdigit() for word in text_words))


def declines(folded: str, words_there: Collection[str], says_something: bool) -> bool:
    """Return whether a folded text declines the task: explicitly, or by an apology without any requested content."""
    beginning = folded[:REFUSAL_REACH]
    if not says_something and APOLOGIES.are_in(beginning, words_there):
        return True
    return bool(not DECLINING_WORDS.isdisjoint(words_there) and _DECLINES.search(beginning))


def chatters(text: str) -> bool:
    """Return whether a text addresses the requester instead of being the answer."""
    folded = fold(text[:MAX_CHARACTERS])
    if not any(map(folded.__contains__, CHATTER.phrases)):
        return False
    return CHATTER.are_in(folded, set(folded_words(folded)))


def ramp(value: float, worst: float, best: float) -> float:
    """Grade a value linearly: 0 at `worst` and beyond, 1 at `best` and beyond."""
    share = (value - worst) / (best - worst)
    if 0.0 <= share < 1.0:
        return share
    return 1.0 if share > 0.0 else 0.0


def overlap(text: str, reference: str) -> float:
    """Return the F1 of two texts' content words, in [0, 1]; two empty texts agree."""
    found, wanted = content_words(text[:MAX_CHARACTERS]), content_words(reference)
    if not found and not wanted:
        return 1.0
    if not found or not wanted:
        return 0.0
    return 2 * len(set(found) & set(wanted)) / (len(found) + len(wanted))
