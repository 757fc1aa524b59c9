"""Files of phrases: what their data is made of, one sentence for one that is broken, and the names that none may hold.

`data/evidence/regulated.toml` has the names of what no push and no action may sell, and of what is no name.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.errors import InputError
from schemas.faults import first_fault

DATA_FILES: Final = ("data/evidence/regulated.toml",)
REGULATED: Final = Path(__file__).resolve().parents[2] / DATA_FILES[0]
KEPT_NAMES: Final = 4096
_BETWEEN: Final = r"\w*(?: \w{1,4})? "
"""Between two beginnings of one product: the end of its first word, and `de`, `para` and the like."""


class PhraseData(BaseModel):
    """Part of a file of phrases; a key that nothing reads is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@contextmanager
def read_whole(path: Path, remedy: str = "correct the file") -> Iterator[None]:
    """Refuse a file, or a folder of files, that the block cannot read.

    Args:
        path: The file or folder.
        remedy: The end of the sentence on one that cannot be read.

    Raises:
        InputError: It is no TOML, lacks something, or the block found a fault in it (`ValueError`).
    """
    try:
        yield
    except ValidationError as error:
        raise InputError(f"the phrases of {path} are broken: {first_fault(error)}; correct the file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"the phrases of {path} cannot be read ({reason}); {remedy}") from None


class Law(PhraseData):
    """What a law says, the beginnings of the words of the products that it is about, and whether they are no names."""

    frase: str
    radicais: tuple[str, ...] = Field(min_length=1)
    recusa: bool = False


class Laws(PhraseData):
    """All of the file."""

    iguais: Mapping[str, str]
    sinais: str
    exceto: tuple[str, ...]
    leis: tuple[Law, ...]


@lru_cache(maxsize=KEPT_NAMES)
def law_on(text: str) -> tuple[str, Law] | None:
    """Return the word of a text that a law is about, and the law; of several, one that makes it no name."""
    laws, exceptions, patterns = _laws()
    plain = unicodedata.normalize("NFKD", text.casefold().replace("-", " "))
    plain = "".join(laws.iguais.get(each, each) for each in plain if not unicodedata.combining(each))
    plain = exceptions.sub(" ", plain)
    found = [(match[0], law) for pattern, law in patterns if (match := pattern.search(plain))]
    return max(found, key=lambda each: each[1].recusa, default=None)


def law_against(text: str) -> str | None:
    """Return why a text of a campaign gets no push, by the word and its law, in Portuguese; None where it may."""
    found = law_on(text)
    return f"sem push por causa de {found[0]!r}. {found[1].frase}" if found else None


def has_bad_sign(name: str) -> bool:
    """Return whether a name has a sign, such as a hand, that none may have."""
    return not set(_laws()[0].sinais).isdisjoint(name)


@cache
def _laws() -> tuple[Laws, re.Pattern[str], tuple[tuple[re.Pattern[str], Law], ...]]:
    with read_whole(REGULATED):
        laws = Laws.model_validate(tomllib.loads(REGULATED.read_text(encoding="utf-8")))
    return laws, _any_of(laws.exceto), tuple((_any_of(law.radicais), law) for law in laws.leis)


def _any_of(stems: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(stems)})".replace(".", r"\b").replace(" ", _BETWEEN))
