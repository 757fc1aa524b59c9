"""Senses of a campaign: words that fit its product or speak to its audience, and no other campaign's."""

import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from tasks.commerce.push.campaigns import things_of
from tasks.commerce.push.notation import uniform
from tasks.commerce.text.categories import readable_category
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import KEPT_PROMPTS, fold, stem, words
from tasks.commerce.text.vocabulary import CLOSED_CLASS

DATA_FILES: Final = (
    "data/campaigns/audiences.toml",
    "data/campaigns/senses.toml",
    "data/campaigns/things.toml",
    "data/lexicons/categories.txt",
    "data/lexicons/products.txt",
    "data/lexicons/unspecific_products.txt",
)
FOLDER: Final = Path(__file__).resolve().parents[3] / "data" / "campaigns"
NO_SENSE: Final = "para você"
ANY_PRODUCT: Final = frozenset(fold(word) for word in read_lexicon("unspecific_products"))


def _read(name: str) -> Mapping[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def _by_product() -> Mapping[str, tuple[frozenset[str], str]]:
    """Return, by folded product, its sense's words, and its line."""
    known: dict[str, tuple[frozenset[str], str]] = {}
    for sense in _read("senses")["sense"]:
        of_category = frozenset(words(f"{sense['words']} {sense['line']}")) - CLOSED_CLASS, str(sense["line"])
        for category in sense["categories"]:
            for thing in _of(category):
                known.setdefault(fold(thing), of_category)
            # Who sells a category names its things.
            things = frozenset(word for thing in _of(category) for word in words(thing)) - CLOSED_CLASS
            known.setdefault(fold(readable_category(category)), (of_category[0] | things, of_category[1]))
    return known


def _of(category: str) -> tuple[str, ...]:
    return (*things_of(category), *_listed().get(category, ()))


@cache
def _listed() -> Mapping[str, tuple[str, ...]]:
    lines = (line.partition(" = ") for line in read_lexicon("products"))
    return {category: tuple(things.split(", ")) for category, _, things in lines}


@cache
def any_sense() -> frozenset[str]:
    """Return folded words that fit some product."""
    return frozenset(word for sense in _read("senses")["sense"] for word in words(sense["words"])) - CLOSED_CLASS


def sense_of(product: str) -> frozenset[str]:
    """Return folded words that fit a product; those of all products where it is in no list."""
    known = _by_product().get(fold(product))
    return known[0] if known else any_sense()


def line_of(product: str) -> str:
    """Return what a push may say of a product: an occasion, or who enjoys it."""
    known = _by_product().get(fold(product))
    return known[1] if known else NO_SENSE


def address_of(segment: str) -> frozenset[str]:
    """Return folded words that speak to a segment."""
    known = _segments()
    return _union((*filter(fold(segment).__contains__, known), *filter(known.__contains__, segment.split())))


@lru_cache(maxsize=KEPT_PROMPTS)
def _union(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset().union(*map(_segments().__getitem__, names))


def _with_phrases(text: str) -> set[str]:
    return {*words(text), *uniform(words(text))}


@cache
def _segments() -> Mapping[str, frozenset[str]]:
    read = _read("audiences")
    named = {fold(each["segment"]): frozenset(_with_phrases(each["words"])) for each in read["audience"]}
    return named | {code: frozenset(words(people)) - CLOSED_CLASS for code, people in read["states"].items()}


@cache
def product_stems() -> frozenset[str]:
    """Return the stems of the words that name a thing that shops sell."""
    things = (
        thing for sense in _read("senses")["sense"] for category in sense["categories"] for thing in _of(category)
    )
    return frozenset(stem(head) for head in (words(thing)[0] for thing in things) if head not in ANY_PRODUCT)
