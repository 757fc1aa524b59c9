"""Products and offers of a campaign, and how their names are read, apart from phrases that a shop may add."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from tasks.commerce.text.lexicons import read_data
from tasks.commerce.text.portuguese import readable_category

DATA_FILES: Final = ("data/campaigns/things.toml",)
_QUOTES: Final = str.maketrans("‘’“”", "''\"\"", "\ufe0f")
_ENDED: Final = re.compile(r"(?<=[^\W_]|[%)])[.!]$")
USUAL_PRICE: Final = 100.0  # Price, in reais, of what `data/campaigns/things.toml` does not have.


def plain_name(text: str) -> str:
    """Return a name with the quotation marks of a keyboard and whole letters, where a phone types others."""
    return unicodedata.normalize("NFC", text).translate(_QUOTES)


def plain_offer(text: str) -> str:
    """Return an offer with plain quotation marks, and without the one mark that ends it as a sentence."""
    return _ENDED.sub("", plain_name(text))


def things_of(category: str) -> Mapping[str, float]:
    """Return the things of a category with their prices in reais; the category itself where none are known."""
    known: Mapping[str, Mapping[str, float]] = read_data("campaigns/things.toml")
    return known.get(category) or {readable_category(category): USUAL_PRICE}
