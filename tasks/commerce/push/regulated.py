"""Products that get no push, by `data/evidence/regulated.toml`: by a law, or since they tell of the reader."""

import re
import tomllib
import unicodedata
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import Field

from tasks.commerce.phrase_files import PhraseData, read_whole

DATA_FILES: Final = ("data/evidence/regulated.toml",)
FILE: Final = Path(__file__).resolve().parents[3] / DATA_FILES[0]
_BETWEEN: Final = r"\w*(?: \w{1,4})? "
"""Between two beginnings of one product: the end of its first word, and `de`, `para` and the like."""


class Law(PhraseData):
    """What a law says, and the beginnings of the words of the products that it is about."""

    frase: str
    radicais: tuple[str, ...] = Field(min_length=1)


class Laws(PhraseData):
    """All of the file."""

    leis: tuple[Law, ...]


def law_against(text: str) -> str | None:
    """Return why a text of a campaign gets no push, by the word and its law, in Portuguese; None where it may."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each))
    for pattern, law in _patterns():
        if found := pattern.search(plain):
            return f"sem push por causa de {found[0]!r}. {law}"
    return None


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    with read_whole(FILE):
        laws = Laws.model_validate(tomllib.loads(FILE.read_text(encoding="utf-8"))).leis
    return tuple((re.compile(rf"\b(?:{'|'.join(law.radicais)})".replace(" ", _BETWEEN)), law.frase) for law in laws)
