"""Phrases of `data/evidence/push.toml`, and those of them that suit a product and an offer."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import Field

from schemas.errors import InputError
from tasks.commerce.phrase_files import PhraseData, read_whole
from tasks.commerce.push.campaigns import things_of
from tasks.commerce.push.own_phrases import with_own

DATA_FILES: Final = ("data/evidence/push.toml", "$TUCANO_PHRASES")
FILE: Final = Path(__file__).resolve().parents[3] / DATA_FILES[0]
LEAST_PERCENT, MOST_PERCENT = 1, 90
"""Percentages that a discount or cashback can have."""
GENERAL: Final = "geral"
KEPT_CAMPAIGNS: Final = 4096
_AMOUNT: Final = re.compile(r"\d+(?:[.,]\d+)*")
_WORD: Final = re.compile(r"(?<![\w{])[\w-]{3,}")


class Core(PhraseData):
    """Core of a push; `push.toml` says what each field means."""

    texto: str = Field(pattern=r"^[^{}]*(\{produto\}[^{}]*\{oferta\}|\{oferta\}[^{}]*\{produto\})[^{}]*$")
    para: Literal["todas", "conhecidas", "com"]


class Offers(PhraseData):
    """Forms of the offers that are known: those that `com` may go before, and the others."""

    com: tuple[str, ...]
    outras: tuple[str, ...]


class Closers(PhraseData):
    """Closers for every offer, and those for offers that are known."""

    todas: tuple[str, ...] = Field(min_length=1)
    conhecidas: tuple[str, ...]


class OpenersOfGroup(PhraseData):
    """Openers that fit the categories and the products of `de`."""

    de: frozenset[str]
    aberturas: tuple[str, ...]


class PushPhrases(PhraseData):
    """All of the file."""

    repetem: frozenset[str]
    ofertas: Offers
    nucleos: tuple[Core, ...] = Field(min_length=1)
    fechos: Closers
    grupos: dict[str, OpenersOfGroup]


class CampaignPhrases(NamedTuple):
    """The phrases that suit a product and an offer."""

    own: tuple[str, ...]
    """Openers of the product's groups."""
    general: tuple[str, ...]
    """Openers that suit every product."""
    cores: tuple[str, ...]
    closers: tuple[str, ...]


@cache
def read_phrases(file: Path = FILE) -> PushPhrases:
    """Read and check the file of phrases, and the shop's own beside it.

    Raises:
        InputError: It is no TOML, lacks something, or has no general openers.
    """
    with read_whole(file):
        phrases = PushPhrases.model_validate(with_own(tomllib.loads(file.read_text(encoding="utf-8"))))
    if GENERAL not in phrases.grupos:
        raise InputError(f"the phrases of {file} lack the group {GENERAL!r}, which suits every product; add it")
    return phrases


@lru_cache(maxsize=KEPT_CAMPAIGNS)
def suiting(product: str, offer: str) -> CampaignPhrases:
    """Return the phrases that suit a product and an offer and repeat no word of them."""
    known, said = read_phrases(), content_words(f"{product} {offer}")
    fitting = _fitting(offer.lower())

    def unsaid(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(text for text in texts if said.isdisjoint(content_words(text)))

    return CampaignPhrases(
        unsaid(text for name in _groups().get(product.lower(), ()) for text in known.grupos[name].aberturas),
        unsaid(known.grupos[GENERAL].aberturas),
        unsaid(core.texto for core in known.nucleos if core.para in fitting),
        unsaid([*known.fechos.todas, *(known.fechos.conhecidas if "conhecidas" in fitting else ())]),
    )


def _fitting(offer: str) -> frozenset[str]:
    """Return the kinds of phrases that an offer in lower case takes: those for all, and more of a known form."""
    known, form = read_phrases().ofertas, _AMOUNT.sub("#", offer)
    amounts = [float(each.replace(".", "").replace(",", ".")) for each in _AMOUNT.findall(offer)]
    sound = _is_share(amounts) if "#%" in form else amounts == sorted(set(amounts), reverse=True) and 0 not in amounts
    if not sound or form not in (*known.com, *known.outras):
        return frozenset({"todas"})
    return frozenset({"todas", "conhecidas", *(["com"] if form in known.com else [])})


def _is_share(amounts: Sequence[float]) -> bool:
    return all(LEAST_PERCENT <= each <= MOST_PERCENT for each in amounts)


@lru_cache(maxsize=KEPT_CAMPAIGNS)
def content_words(text: str) -> frozenset[str]:
    """Return the words of a text that may stand in a push once; merge fields are none."""
    return frozenset(_WORD.findall(text.lower())) - read_phrases().repetem


@cache
def _groups() -> Mapping[str, list[str]]:
    """Return the groups of each product that is known by its name or by its category."""
    found: dict[str, list[str]] = {}
    for name, group in read_phrases().grupos.items():
        # What is no category is a product: its one thing has its own name.
        for product in sorted({product.lower() for listed in group.de for product in things_of(listed)}):
            found.setdefault(product, []).append(name)
    return found
