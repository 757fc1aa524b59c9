"""Olist's product categories in a shopper's words."""

from functools import cache
from typing import Final

from tasks.commerce.text.lexicons import read_lexicon

DATA_FILES: Final = ("data/lexicons/categories.txt",)


def readable_category(name: str) -> str:
    """Return a category's name in good Portuguese, such as `beleza e saúde` for `beleza_saude`."""
    return _categories().get(name, name.replace("_", " "))


@cache
def _categories() -> dict[str, str]:
    pairs = (line.partition("=") for line in read_lexicon("categories"))
    return {name.strip(): readable.strip() for name, _, readable in pairs}
