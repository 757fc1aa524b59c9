"""Names that nothing may hold, and goods that neither push nor advice may sell (`data/evidence/regulated.toml`)."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, Final

from tasks.commerce.text.lexicons import read_data, read_entries, read_lexicon
from tasks.commerce.text.text_form import fold

DATA_FILES: Final = (
    "data/evidence/complaint.toml",
    "data/evidence/regulated.toml",
    "data/lexicons/offences.txt",
    "data/lexicons/discrimination.txt",
)
KEPT_NAMES: Final = 4096
_BETWEEN: Final = r"\w*(?: \w{1,4})? "  # The end of a product's first word, and `de`, `para` and the like.


@lru_cache(maxsize=KEPT_NAMES)
def law_on(text: str) -> tuple[str, Any] | None:
    """Return the word of a text that a law is about, and the law; of several, one that makes it no name (`recusa`)."""
    laws, exceptions, patterns = _laws()
    plain = exceptions.sub(" ", "".join(laws.iguais.get(each, each) for each in _plain(text)))
    found = [(match[0], law) for pattern, law in patterns if (match := pattern.search(plain))]
    return max(found, key=lambda each: bool(each[1].recusa), default=None)


def is_sensitive(text: str) -> bool:
    """Return whether a text has an insult, a word of health, religion, politics, race and such, or a long number."""
    return _sensitive().search(fold(text)) is not None


@cache
def _sensitive() -> re.Pattern[str]:
    data, offences = read_data("evidence/complaint.toml"), [*read_lexicon("offences"), *read_lexicon("discrimination")]
    words = "|".join((*data["sensiveis"], *(f"{fold(each)}." for each in offences)))
    return re.compile(rf"\b(?:{words})".replace(".", r"\b").replace(" ", r"\W+") + f"|{data['numero']}")


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold().replace("-", " "))
    return "".join(each for each in decomposed if not unicodedata.combining(each))


def law_against(text: str) -> str | None:
    """Return why a text of a campaign gets no push, by the word and its law, in Portuguese; None where it may."""
    found = law_on(text)
    return f"sem push por causa de {found[0]!r}. {found[1].frase}" if found else None


def law_against_offering(product: str, offer: str) -> str | None:
    """Return why a product with an offer gets no push: a law, a product that is no name, or an offer that excludes."""
    laws, exceptions, _ = _laws()
    for name, text in (("produto", product), ("oferta", offer)):
        if found := _any_of(tuple(laws[name].radicais)).search(exceptions.sub(" ", _plain(text))):
            return f"sem push por causa de {found[0]!r}. {laws[name].frase}"
    return law_against(f"{product} {offer}")


@cache
def _laws() -> tuple[Any, re.Pattern[str], tuple[tuple[re.Pattern[str], Any], ...]]:
    laws = read_entries("evidence/regulated.toml")
    # An offence of three words or more is a sentence.
    known = [_plain(each) for name in ("offences", "discrimination") for each in read_lexicon(name)]
    offences = [each.replace(" ", ". ") + "." for each in known if each.count(" ") < 2]
    stems = [[*law.radicais, *offences] if law.recusa else law.radicais for law in laws.leis]
    return laws, _any_of(tuple(laws.exceto)), tuple(zip(map(_any_of, map(tuple, stems)), laws.leis, strict=True))


@cache
def _any_of(stems: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(stems)})".replace(".", r"\b").replace(" ", _BETWEEN))
