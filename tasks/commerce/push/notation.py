"""Notations of a push: its words with phrases, numbers and parts of offers in one spelling each.

`vinte por cento a menos` and `20% OFF` both become `20`, `%`, `=desconto`. A part of an offer begins with `=`, a phrase
that claims something with `!`, and phrases that promise nothing are left out.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold, words

DATA_FILES: Final = (
    "data/campaigns/notations.toml",
    "data/lexicons/push_claims.txt",
    "data/lexicons/push_denials.txt",
    "data/lexicons/push_phrases.txt",
    "data/lexicons/push_tails.txt",
)
FOLDER: Final = Path(__file__).resolve().parents[3] / "data" / "campaigns"
PART, CLAIM, DENIAL = "=", "\xa1", "~"
"""Signs before a part of an offer, a phrase that claims something, and one that takes an offer back."""
NEUTRAL: Final = "_"
"""What a phrase that promises nothing becomes; beside product and offer it says how far the offer goes."""
NEUTRAL_TAIL: Final = "__"
"""What a phrase becomes that promises nothing beside the offer either."""
_ONES: Final = (
    "zero", "um", "dois", "tres", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez", "onze", "doze", "treze",
    "quatorze", "quinze", "dezesseis", "dezessete", "dezoito", "dezenove",
)  # fmt: skip
_TENS: Final = ["vinte", "trinta", "quarenta", "cinquenta", "sessenta", "setenta", "oitenta", "noventa"]
_HUNDREDS: Final = (
    "cento", "duzentos", "trezentos", "quatrocentos", "quinhentos", "seiscentos", "setecentos", "oitocentos",
    "novecentos",
)  # fmt: skip
_END: Final = ""
"""The key of a phrase's replacement among the words that may follow."""


@cache
def parts() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Return the parts that an offer may have, each with the words that make it and those that may stand beside it."""
    read: dict[str, dict[str, list[str]]] = tomllib.loads((FOLDER / "notations.toml").read_text(encoding="utf-8"))
    return {
        part: {use: frozenset(word for phrase in phrases for word in words(phrase)) for use, phrases in uses.items()}
        for part, uses in read.items()
    }


def _number_names() -> Iterable[tuple[str, str]]:
    for number in range(2, 1000):
        yield _spelled(number), str(number)
    yield from (("duas", "2"), ("catorze", "14"), ("cem", "100"), ("mil", "1000"), ("duzentas", "200"))


def _spelled(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    names = [_HUNDREDS[hundreds - 1]] if hundreds else []
    if rest >= len(_ONES):
        tens, rest = divmod(rest, 10)
        names.append(_TENS[tens - 2])
    if rest:
        names.append(_ONES[rest])
    return " e ".join(names)


def _phrases() -> Iterable[tuple[str, tuple[str, ...]]]:
    read: dict[str, dict[str, list[str]]] = tomllib.loads((FOLDER / "notations.toml").read_text(encoding="utf-8"))
    yield from ((name, (digits,)) for name, digits in _number_names())
    for lexicon, sign in (("push_claims", CLAIM), ("push_denials", DENIAL)):
        for phrase in read_lexicon(lexicon):
            if " " in phrase:
                yield phrase, (sign + fold(phrase),)
    yield from ((phrase, (NEUTRAL,)) for phrase in read_lexicon("push_phrases"))
    yield from ((phrase, (NEUTRAL_TAIL,)) for phrase in read_lexicon("push_tails") if " " in phrase)
    yield "por cento", ("%",)
    yield "porcento", ("%",)
    for part, uses in read.items():
        yield from ((phrase, (PART + part,)) for phrase in uses["said"])


def _tree() -> dict[str, Any]:
    root: dict[str, Any] = {}
    for phrase, replacement in _phrases():
        spelled = words(phrase)
        node = root
        for word in spelled:
            node = node.setdefault(word, {})
        # The sign of an amount is read with its number.
        node[_END] = (*replacement, "r$") if spelled[-1] == "r$" else replacement
    return root


_TREE: Final = _tree()
_FIRST_WORDS: Final = frozenset(_TREE)


def uniform(text_words: Sequence[str]) -> list[str]:
    """Return folded words with the longest known phrase at each place replaced."""
    if _FIRST_WORDS.isdisjoint(text_words):
        return list(text_words)
    spelled: list[str] = []
    done, count = 0, len(text_words)
    for place, word in enumerate(text_words):
        if word not in _TREE or place < done:
            continue
        node = _TREE[word]
        found, end, ahead = node.get(_END), place + 1, place + 1
        while ahead < count and (node := node.get(text_words[ahead])) is not None:
            ahead += 1
            if _END in node:
                found, end = node[_END], ahead
        if found is not None:
            spelled += text_words[done:place]
            spelled += found
            done = end
    spelled += text_words[done:]
    return spelled
