"""Synonyms of products: what people call a thing that a campaign's line names otherwise."""

from collections.abc import Set as AbstractSet
from typing import Final

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold, words
from tasks.commerce.text.vocabulary import CLOSED_CLASS

DATA_FILES: Final = ("data/lexicons/push_synonyms.txt",)


def _read() -> dict[str, frozenset[str]]:
    known: dict[str, frozenset[str]] = {}
    for line in read_lexicon("push_synonyms"):
        product, _, names = line.partition(" = ")
        for name in map(fold, names.split(", ")):
            for form in (name, f"{name}s"):
                known[form] = known.get(form, frozenset()) | (frozenset(words(product)) - CLOSED_CLASS)
    return known


SYNONYMS: Final = _read()
_NAMES: Final = frozenset(SYNONYMS)


def synonyms_among(present: AbstractSet[str]) -> AbstractSet[str]:
    """Return the words of the products that folded words name by another name."""
    names = _NAMES & present
    return frozenset().union(*map(SYNONYMS.__getitem__, names)) if names else names


def names_of(product: AbstractSet[str]) -> frozenset[str]:
    """Return the other names of a product of these folded words."""
    return frozenset(name for name, known in SYNONYMS.items() if known <= product)
