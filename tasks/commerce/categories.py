"""Olist's product categories, as a shopper would read them."""

from functools import cache

from tasks.commerce.lexicons import read_lexicon


def readable_category(name: str) -> str:
    """Return a category's name in good Portuguese, such as `beleza e saúde` for `beleza_saude`."""
    return _readable_names().get(name, name.replace("_", " "))


@cache
def _readable_names() -> dict[str, str]:
    pairs = (line.partition("=") for line in read_lexicon("categories"))
    return {name.strip(): readable.strip() for name, _, readable in pairs}
