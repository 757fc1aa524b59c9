"""Portuguese as data is written in it: months, states and categories by name, and numbers in Brazilian notation."""

from functools import cache
from typing import Final

from tasks.commerce.text.lexicons import read_data, read_lexicon

DATA_FILES: Final = ("data/states/articles.toml", "data/lexicons/categories.txt")
# fmt: off
MONTHS: Final = (
    "janeiro", "fevereiro", "março", "abril", "maio", "junho",
    "julho", "agosto", "setembro", "outubro", "novembro", "dezembro",
)
# fmt: on

_JOINED: Final = {
    "de": {"": "de", "o": "do", "a": "da"},
    "em": {"": "em", "o": "no", "a": "na"},
    "para": {"": "para", "o": "para o", "a": "para a"},
}


class StateCode(str):
    """Code of a state, whose format is a preposition: `f"clientes {code:de}"` is `clientes do RJ`."""

    __slots__ = ()

    def __format__(self, preposition: str) -> str:
        article = read_data("states/articles.toml").get(self, "")
        return f"{_JOINED[preposition][article]} {self!s}" if preposition else str(self)


def readable_category(name: str) -> str:
    """Return a category's name in good Portuguese, such as `beleza e saúde` for `beleza_saude`."""
    return _categories().get(name, name.replace("_", " "))


@cache
def _categories() -> dict[str, str]:
    pairs = (line.partition("=") for line in read_lexicon("categories"))
    return {name.strip(): readable.strip() for name, _, readable in pairs}


def decimal(value: float, places: int = 1) -> str:
    """Format a number with a decimal comma and dots between the thousands."""
    return f"{value:,.{places}f}".translate(str.maketrans(",.", ".,"))


def percent(share: float) -> str:
    """Format a share in [0, 1] as a percentage with one decimal."""
    return f"{decimal(100 * share)}%"


def reais(value: float) -> str:
    """Format an amount in whole reais."""
    return f"R$ {decimal(value, 0)}"
