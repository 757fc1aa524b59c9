"""Products of pushes: the things of a category with their prices, and what gets no push.

`data/evidence/regulated.toml` names what gets none, by a law, or since it tells of the reader.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Final

from pydantic import Field

from tasks.commerce.text.lexicons import PhraseData, read_data
from tasks.commerce.text.portuguese import readable_category

DATA_FILES: Final = ("data/campaigns/things.toml", "data/evidence/regulated.toml")
USUAL_PRICE: Final = 100.0
"""Price, in reais, of what `data/campaigns/things.toml` does not have."""
_BETWEEN: Final = r"\w*(?: \w{1,4})? "
"""Between two beginnings of one product: the end of its first word, and `de`, `para` and the like."""


class Law(PhraseData):
    """What a law says, and the beginnings of the words of the products that it is about."""

    frase: str
    radicais: tuple[str, ...] = Field(min_length=1)


class Laws(PhraseData):
    """All of the file."""

    leis: tuple[Law, ...]


def things_of(category: str) -> Mapping[str, float]:
    """Return the things of a category with their prices in reais; the category itself where none are known."""
    return _things().get(category) or {readable_category(category): USUAL_PRICE}


@cache
def _things() -> Mapping[str, Mapping[str, float]]:
    return read_data("campaigns/things.toml")


def law_against(text: str) -> str | None:
    """Return why a text of a campaign gets no push, by the word and its law, in Portuguese; None where it may."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each))
    for pattern, law in _patterns():
        if found := pattern.search(plain):
            return f"sem push por causa de {found[0]!r}. {law}"
    return None


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    laws = Laws.model_validate(read_data("evidence/regulated.toml")).leis
    return tuple((re.compile(rf"\b(?:{'|'.join(law.radicais)})".replace(" ", _BETWEEN)), law.frase) for law in laws)
