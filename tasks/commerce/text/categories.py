"""Olist's product categories and the things in them, in a shopper's words."""

from functools import cache
from typing import Final

from tasks.commerce.text.lexicons import read_lexicon

DATA_FILES: Final = ("data/lexicons/categories.txt", "data/lexicons/products.txt")


def readable_category(name: str) -> str:
    """Return a category's name in good Portuguese, such as `beleza e saúde` for `beleza_saude`."""
    return _by_category("categories").get(name, name.replace("_", " "))


def things_of(name: str) -> tuple[str, ...]:
    """Return things of a category, such as `bonecas` for `brinquedos`; empty if the word list has none."""
    listed = _by_category("products").get(name)
    return tuple(listed.split(", ")) if listed else ()


@cache
def _by_category(lexicon: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in read_lexicon(lexicon))
    return {name.strip(): readable.strip() for name, _, readable in pairs}
