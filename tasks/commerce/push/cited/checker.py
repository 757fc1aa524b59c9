"""Checker of pushes in phrases: it says what is wrong with a template for a product and an offer."""

import re
from functools import cache
from typing import Final, NamedTuple

from tasks.commerce.push.cited.phrases import Suiting, content_words, read_phrases, suiting

LONGEST: Final = 120
"""Graphemes that a phone shows."""
_NOT_A_SHOPS: Final = re.compile(r"[{}<>|\r\n]|://|www\.")


class Parts(NamedTuple):
    """A template by its phrases; either end may be empty."""

    opener: str
    core: str
    closer: str

    @property
    def template(self) -> str:
        """Return the template."""
        return " ".join(filter(None, self))


def parts_of(template: str) -> Parts | None:
    """Return the phrases of a template, whatever campaign it is for; None where it is none."""
    match = _form().fullmatch(template)
    return Parts(*(part or "" for part in match.groups())) if match else None


@cache
def _form() -> re.Pattern[str]:
    known = read_phrases()
    openers = [text for group in known.grupos.values() for text in group.aberturas]
    cores = [core.texto for core in known.nucleos]
    one_of = (
        "|".join(map(re.escape, texts)) for texts in (openers, cores, [*known.fechos.sempre, *known.fechos.com_prazo])
    )
    return re.compile("(?:({}) )?({})(?: ({}))?".format(*one_of))


def fill(template: str, product: str, offer: str) -> str:
    """Return what a customer reads: names in place of fields, and a capital letter where a sentence begins."""
    text = re.sub(
        r"(^|[.!?] )\{(produto|oferta)\}",
        lambda field: field[1] + _capital(product if field[2] == "produto" else offer),
        template,
    )
    return text.replace("{produto}", product).replace("{oferta}", offer)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def fault_of(template: str, product: str, offer: str) -> str | None:
    """Return what is wrong with a template; None where its text may be sent."""
    if _NOT_A_SHOPS.search(product + offer):
        return "strings"
    parts = parts_of(template)
    if parts is None:
        return "form"
    known = suiting(product, offer)
    if not _suits(parts, known):
        return "campaign"
    words = [content_words(part) for part in parts]
    if sum(map(len, words)) != len(frozenset().union(*words)):
        return "repeats"
    return "length" if len(fill(template, product, offer)) > LONGEST else None


def _suits(parts: Parts, known: Suiting) -> bool:
    return (
        (not parts.opener or parts.opener in known.own or parts.opener in known.general)
        and parts.core in known.cores
        and (not parts.closer or parts.closer in known.closers)
    )
