"""Brazil's states in a sentence: `do RJ`, `da BA`, `de SP`."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

DATA_FILES: Final = ("data/states/articles.toml",)
FILE: Final = Path(__file__).resolve().parents[3] / "data" / "states" / "articles.toml"
_JOINED: Final = {
    "de": {"": "de", "o": "do", "a": "da"},
    "em": {"": "em", "o": "no", "a": "na"},
    "para": {"": "para", "o": "para o", "a": "para a"},
}


class StateCode(str):
    """Code of a state, whose format is a preposition: `f"clientes {code:de}"` is `clientes do RJ`."""

    __slots__ = ()

    def __format__(self, preposition: str) -> str:
        return f"{_JOINED[preposition][_articles().get(self, '')]} {self!s}" if preposition else str(self)


@cache
def _articles() -> Mapping[str, str]:
    articles: dict[str, str] = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return articles
