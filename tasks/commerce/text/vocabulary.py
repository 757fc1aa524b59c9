"""Closed word lists: what a text says beyond the words that it may be made of.

Bad texts are without number, and what a good answer says is small: the prompt's words, the field's, and some hundred
harmless ones. A list holds one form of a word, and `root` leads every usual form of it back to one spelling.
"""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.remembered import MAX_KEPT_WORDS, Remembered
from tasks.commerce.text.text_form import FUNCTION_WORDS, KEPT_PROMPTS, fold, folded_words

DATA_FILES: Final = ("data/lexicons/closed_class_words.txt", "data/lexicons/irregular_verbs.txt")
LONGEST_WORD: Final = 40
"""Letters; the longest Portuguese word of a shop has half of them."""

CLOSED_CLASS: Final = FUNCTION_WORDS | {fold(word) for word in read_lexicon("closed_class_words")}
"""Words that only bind, point or count, and forms of the auxiliary verbs."""

_PLURALS: Final = (
    ("oes", "ao"),
    ("aes", "ao"),
    ("aos", "ao"),
    ("ais", "al"),
    ("eis", "el"),
    ("ois", "ol"),
    ("uis", "ul"),
    ("is", "el"),
    ("ns", "m"),
)
_IL: Final = "il"
"""`fácil` and `fáceis`, `perfil` and `perfis`: all end as `nível` and `níveis` do."""
_MOODS: Final = ("", "mo", "m")
_ENDINGS: Final = tuple(
    sorted(
        {
            # The infinitive and its persons, the gerund, the participle.
            *(f"{vowel}r{person}" for vowel in "aei" for person in ("", "e", "em", "mo")),
            *(f"{vowel}ndo" for vowel in "aei"),
            *(f"{vowel}d{gender}" for vowel in "ai" for gender in "oa"),
            # Present, imperative and subjunctive.
            *("o", "a", "e", "am", "em", "amo", "emo", "imo"),
            # Past.
            *("ei", "i", "ou", "eu", "iu", "aram", "eram", "iram", "ste"),
            *(f"ava{person}" for person in _MOODS),
            *(f"ia{person}" for person in _MOODS),
            # Future, conditional and the past subjunctive.
            *(
                f"{vowel}r{rest}"
                for vowel in "aei"
                for rest in ("ei", "a", "ao", "emo", *(f"ia{person}" for person in _MOODS))
            ),
            *(f"{vowel}sse{person}" for vowel in "aei" for person in _MOODS),
        },
        key=lambda ending: (-len(ending), ending),
    )
)
_ENDING_SET: Final = frozenset(_ENDINGS)
_LONGEST_ENDING: Final = len(_ENDINGS[0])
_SHORTEST_ROOT: Final = 3
_SHORTEST_SOFT_ROOT: Final = 4
_SOFTENED: Final = (("qu", "c"), ("gu", "g"), ("j", "g"))
"""Spellings of one sound before `e` and `i`: `troco` and `troque`, `pago` and `pague`, `corrigir` and `corrija`."""
_SMALL: Final = re.compile(r"(?<=[a-z]{4})(?:zinh|inh|issim)[oa]$")
"""Diminutives and superlatives: `rapidinho`, `baratíssima`."""
_VERB: Final = re.compile(r"(?P<infinitive>\w+)(?: \((?P<prefixes>[\w, ]+)\))? = (?P<forms>.+)")


def _irregular_forms() -> dict[str, str]:
    infinitives: dict[str, str] = {}
    for entry in read_lexicon("irregular_verbs"):
        verb = _VERB.fullmatch(fold(entry))
        if verb is None:
            raise ValueError(f"irregular_verbs.txt: {entry!r} is no `infinitive (prefixes) = forms`")
        for prefix in ("", *filter(None, (verb["prefixes"] or "").split(", "))):
            for form in (verb["infinitive"], *verb["forms"].split(", ")):
                infinitives.setdefault(f"{prefix}{form}", f"{prefix}{verb['infinitive']}")
    return infinitives


_INFINITIVES: Final = _irregular_forms()


@lru_cache(maxsize=MAX_KEPT_WORDS)
def root(word: str) -> str:
    """Return the common root of a folded word's forms: `recomendar`, `recomendamos`; `fácil`, `fáceis`, `facilmente`.

    It is a spelling without meaning: some words of different meaning share one (`prazo`, `prazer`).
    """
    word = _INFINITIVES.get(word, word)
    if not 4 <= len(word) <= LONGEST_WORD or not word.isalpha():
        return word
    if word.endswith("mente") and len(word) > 8:
        word = word[:-5]
    singular = word
    if word[-1] == "s":
        singular = next((word[: -len(end)] + put for end, put in _PLURALS if word.endswith(end)), word[:-1])
    if singular.endswith(_IL):
        singular = f"{singular[:-2]}el"
    elif len(singular) > 6 and singular[-1] in "oa":
        singular = _SMALL.sub("o", singular)
    # Looked up by its letters, the longest first: a word that is new is compared with eighty endings otherwise.
    for length in range(min(_LONGEST_ENDING, len(singular) - _SHORTEST_ROOT), 0, -1):
        if singular[-length:] in _ENDING_SET:
            singular = singular[:-length]
            break
    for before, after in _SOFTENED:
        if singular.endswith(before) and len(singular) >= _SHORTEST_SOFT_ROOT:
            return f"{singular[: -len(before)]}{after}"
    return singular


def roots(folded: Iterable[str]) -> frozenset[str]:
    """Return the roots of folded words."""
    return frozenset(map(root, folded))


@lru_cache(maxsize=KEPT_PROMPTS)
def _roots_of(allowed: frozenset[str]) -> frozenset[str]:
    return allowed | roots(allowed)


class Vocabulary:
    """A closed list of words, in any of their forms.

    Args:
        lexicons: Names of word lists; of an entry of several words each word counts.
    """

    def __init__(self, *lexicons: str) -> None:
        self.roots = roots(
            word for lexicon in lexicons for entry in read_lexicon(lexicon) for word in folded_words(fold(entry))
        )
        self._known = Remembered(lambda word: word in CLOSED_CLASS or not word.isalpha() or root(word) in self.roots)

    def __contains__(self, word: str) -> bool:
        """Return whether a folded word is listed in any form, or needs no list (a function word, a number, a sign)."""
        return self._known[word]

    def unknown(self, folded_words: Sequence[str], allowed: AbstractSet[str]) -> list[str]:
        """Return the content words, each time they occur, that are neither listed nor allowed in any form.

        Args:
            folded_words: The text's `words`.
            allowed: Folded words, as a prompt's; a frozenset that is kept with the prompt has its roots cached.
        """
        known = self._known
        foreign = [word for word in folded_words if not known[word]]
        if not foreign or not allowed:
            return foreign
        theirs = _roots_of(frozenset(allowed))
        return [word for word in foreign if word not in theirs and root(word) not in theirs]
