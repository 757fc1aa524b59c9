"""Phrases of `data/evidence/push.toml`, and those of them that suit a product and an offer."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import Field

from schemas.errors import InputError
from tasks.commerce.evidence.phrase_files import PhraseData, read_whole
from tasks.commerce.push.campaigns import things_of

DATA_FILES: Final = ("data/evidence/push.toml",)
FILE: Final = Path(__file__).resolve().parents[4] / DATA_FILES[0]
GENERAL: Final = "geral"
KEPT_CAMPAIGNS: Final = 4096
_AMOUNT: Final = re.compile(r"\d+(?:[.,]\d+)*")
_WORD: Final = re.compile(r"(?<![\w{])[\w-]{3,}")


class Core(PhraseData):
    """Core of a push; `push.toml` says what each field means."""

    texto: str = Field(pattern=r"^[^{}]*(\{produto\}[^{}]*\{oferta\}|\{oferta\}[^{}]*\{produto\})[^{}]*$")
    no_fim: bool = False
    com: bool = False


class Closers(PhraseData):
    """Closers for every offer, and those for offers with a deadline."""

    sempre: tuple[str, ...] = Field(min_length=1)
    com_prazo: tuple[str, ...]


class OpenersOfGroup(PhraseData):
    """Openers that fit the categories and the products of `de`."""

    de: frozenset[str]
    aberturas: tuple[str, ...]


class PushPhrases(PhraseData):
    """All of the file."""

    system: str
    com: frozenset[str]
    sem_condicao: frozenset[str]
    prazos: tuple[str, ...] = Field(min_length=1)
    repetem: frozenset[str]
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
    """Read and check the file of phrases.

    Raises:
        InputError: It is no TOML, lacks something, or has no general openers.
    """
    with read_whole(file):
        phrases = PushPhrases.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    if GENERAL not in phrases.grupos:
        raise InputError(f"the phrases of {file} lack the group {GENERAL!r}, which suits every product; add it")
    return phrases


@lru_cache(maxsize=KEPT_CAMPAIGNS)
def suiting(product: str, offer: str) -> CampaignPhrases:
    """Return the phrases that suit a product and an offer and repeat no word of them."""
    known, said = read_phrases(), content_words(f"{product} {offer}")
    lower = offer.lower()
    is_free = _AMOUNT.sub("#", lower) in known.sem_condicao
    takes_com = lower[:1].isdigit() or lower.split(" ", 1)[0] in known.com

    def unsaid(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(text for text in texts if said.isdisjoint(content_words(text)))

    return CampaignPhrases(
        unsaid(text for name in _groups().get(product.lower(), ()) for text in known.grupos[name].aberturas),
        unsaid(known.grupos[GENERAL].aberturas),
        unsaid(core.texto for core in known.nucleos if (core.no_fim or is_free) and (takes_com or not core.com)),
        unsaid([*known.fechos.sempre, *(known.fechos.com_prazo if _deadline().search(lower) else ())]),
    )


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


@cache
def _deadline() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, read_phrases().prazos))})\b")
