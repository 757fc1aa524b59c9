"""Phrases of pushes, and those of them that suit a product and an offer.

The phrases are data (`data/evidence/push.toml`, which says what each key means), and so are a shop's own openers beside
them, whose file an environment variable names to all processes: the ground truth reads both by its own code.
"""

import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from schemas.errors import InputError
from schemas.faults import first_fault
from tasks.commerce.push.products import things_of
from tasks.commerce.text.lexicons import read_data, read_entries

DATA_FILES: Final = ("data/evidence/push.toml", "$TUCANO_PHRASES")
VARIABLE: Final = "TUCANO_PHRASES"
LEAST_PERCENT, MOST_PERCENT = 1, 90  # Percentages that a discount or cashback can have.
MOST_PARTS: Final = 24  # Instalments, or things that are taken at once.
GENERAL: Final = "geral"
KEPT_CAMPAIGNS: Final = 4096
LONGEST_OPENER: Final = 32  # Characters of a shop's own opener: the product and the offer need the others.
_CAPITAL: Final = "A-ZÀ-ÃÇÉÊÍÓ-ÕÚÜ"
LETTER: Final = f"[{_CAPITAL}{_CAPITAL.lower()}]"
FORM: Final = rf"^[{_CAPITAL}]{LETTER}*(?:[ -]{LETTER}+)*[.!?]$"
"""Words of Portuguese letters from a capital to the end of a sentence."""
_AMOUNT: Final = re.compile(r"\d+(?:[.,]\d+)*")
_NUMBER: Final = re.compile(r"(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?")
_WORD: Final = re.compile(r"(?<![\w{])[\w-]{3,}")


class CampaignPhrases(NamedTuple):
    """The phrases that suit a product and an offer: openers of the product's groups, those of all, and the others."""

    own: tuple[str, ...]
    general: tuple[str, ...]
    cores: tuple[str, ...]
    closers: tuple[str, ...]


class OwnOpener(BaseModel, extra="forbid", frozen=True):
    """One opener, its group of products, and who approved it."""

    grupo: str
    texto: str = Field(pattern=FORM, max_length=LONGEST_OPENER)
    por: str = Field(min_length=1)


class OwnPhrases(BaseModel, extra="forbid", frozen=True):
    """All of a shop's file."""

    aberturas: tuple[OwnOpener, ...]


@cache
def read_phrases() -> Any:
    """Read the phrases, and the shop's own behind them; InputError as of `own_openers`."""
    phrases = read_entries("evidence/push.toml")
    for each in own_openers(phrases.grupos):
        phrases.grupos[each.grupo].aberturas.append(each.texto)
    return phrases


def use_own(file: Path | None) -> None:
    """Use a shop's phrases in this process, and in each that it starts from now on; InputError as of `own_openers`."""
    os.environ.pop(VARIABLE, None)
    if file is not None:
        os.environ[VARIABLE] = str(file.absolute())
        own_openers(read_data("evidence/push.toml")["grupos"])


def own_openers(groups: Collection[str]) -> tuple[OwnOpener, ...]:
    """Return the openers of the shop's file, each of one of the groups.

    InputError where the shop's file cannot be read, or an opener of it cannot be used.
    """
    if VARIABLE not in os.environ:
        return ()
    file = Path(os.environ[VARIABLE])
    try:
        openers = OwnPhrases.model_validate(tomllib.loads(file.read_text(encoding="utf-8"))).aberturas
    except ValidationError as error:
        raise InputError(f"the phrases of {file} are broken: {first_fault(error)}; correct the file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"the phrases of {file} cannot be read ({reason}); correct rewards.phrases") from None
    for each in openers:
        if each.grupo not in groups:
            raise InputError(f"{file} has an opener of the group {each.grupo!r}; there are: {', '.join(groups)}")
    return openers


@lru_cache(maxsize=KEPT_CAMPAIGNS)
def suiting(product: str, offer: str) -> CampaignPhrases:
    """Return the phrases that suit a product and an offer and repeat no word of them."""
    known, said = read_phrases(), content_words(f"{product} {offer}")
    form = _AMOUNT.sub("#", offer.lower())
    # No `em` stands before an article or another preposition: it would have to be bound to it.
    binds = re.fullmatch(known.presos, product.lower())
    # An offer of no known form is only told.
    kinds = ["todas"]
    if "#" not in offer and _is_sound(form, amounts_of(offer)) and form in (*known.ofertas.com, *known.ofertas.outras):
        kinds += ["conhecidas", "com"] if form in known.ofertas.com else ["conhecidas"]

    def unsaid(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(text for text in texts if said.isdisjoint(content_words(text)))

    cores = (core.texto for core in known.nucleos if core.para in kinds)
    return CampaignPhrases(
        unsaid(text for name in _groups().get(product.lower(), ()) for text in known.grupos[name].aberturas),
        unsaid(known.grupos[GENERAL].aberturas),
        unsaid(core for core in cores if not (binds and "m {produto}" in core)),
        unsaid(text for kind in ("todas", "conhecidas") if kind in kinds for text in known.fechos[kind]),
    )


def _is_sound(form: str, amounts: list[float] | None) -> bool:
    """Return whether the amounts of an offer can be: percentages, money, or few things, more taken than paid for."""
    if amounts is None or "#%" in form:
        return amounts is not None and all(LEAST_PERCENT <= each <= MOST_PERCENT for each in amounts)
    is_money = "r$" in form or all(each.is_integer() and each <= MOST_PARTS for each in amounts)
    return is_money and amounts == sorted(set(amounts), reverse=True) and 0 not in amounts


def amounts_of(offer: str) -> list[float] | None:
    """Return the numbers of an offer; None where one is no number, such as `10,20,30`."""
    found = _AMOUNT.findall(offer)
    readable = all(map(_NUMBER.fullmatch, found))
    return [float(each.replace(".", "").replace(",", ".")) for each in found] if readable else None


@lru_cache(maxsize=KEPT_CAMPAIGNS)
def content_words(text: str) -> frozenset[str]:
    """Return the words of a text that may stand in a push once; merge fields are none."""
    return frozenset(_WORD.findall(text.lower())).difference(read_phrases().repetem)


@cache
def _groups() -> Mapping[str, list[str]]:
    """Return the groups of each product that is known by its name or by its category."""
    found: dict[str, list[str]] = {}
    for name, group in read_phrases().grupos.items():
        # What is no category is a product: its one thing has its own name.
        for product in {product.lower() for listed in group.de for product in things_of(listed)}:
            found.setdefault(product, []).append(name)
    return found
