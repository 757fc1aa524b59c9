"""Things of a category with their prices, of which a campaign may be: apart from phrases, which a shop may add to."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from tasks.commerce.text.lexicons import read_data
from tasks.commerce.text.portuguese import readable_category

DATA_FILES: Final = ("data/campaigns/things.toml",)
USUAL_PRICE: Final = 100.0
"""Price, in reais, of what `data/campaigns/things.toml` does not have."""


def things_of(category: str) -> Mapping[str, float]:
    """Return the things of a category with their prices in reais; the category itself where none are known."""
    return _things().get(category) or {readable_category(category): USUAL_PRICE}


@cache
def _things() -> Mapping[str, Mapping[str, float]]:
    return read_data("campaigns/things.toml")
