"""Phrases of `data/evidence/push.toml`, and those of them that suit a product and an offer."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.errors import InputError
from schemas.faults import first_fault
from tasks.commerce.push.campaigns import things_of

DATA_FILES: Final = ("data/evidence/push.toml",)
FILE: Final = Path(__file__).resolve().parents[4] / DATA_FILES[0]
GENERAL: Final = "geral"
KEPT_CAMPAIGNS: Final = 4096
_DEADLINE: Final = re.compile(r"\b(hoje|amanhã|domingo|segunda-feira|sexta|sábado|meia-noite|fim de semana|até dia)\b")
_CONDITION: Final = re.compile(r"\b(acima de|a partir de|últim[ao]s|até|em compras|n[ao]s? compras?|só|somente)\b")
_WORD: Final = re.compile(r"(?<![\w{])[\w-]{3,}")


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Core(_Data):
    """Core of a push; `push.toml` says what each field means."""

    texto: str = Field(pattern=r"^[^{}]*\{(produto|oferta)\}[^{}]*\{(produto|oferta)\}[^{}]*$")
    no_fim: bool = False
    com: bool = False


class _Closers(_Data):
    sempre: tuple[str, ...] = Field(min_length=1)
    com_prazo: tuple[str, ...]


class _Group(_Data):
    de: frozenset[str]
    aberturas: tuple[str, ...]


class PushPhrases(_Data):
    """All of the file."""

    system: str
    frases: frozenset[str]
    repetem: frozenset[str]
    nucleos: tuple[Core, ...] = Field(min_length=1)
    fechos: _Closers
    grupos: dict[str, _Group]


class Suiting(NamedTuple):
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
        InputError: It is no TOML, or lacks something.
    """
    try:
        return PushPhrases.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise InputError(f"the phrases of {file} are broken: {first_fault(error)}; correct the file") from None
    except (OSError, ValueError) as error:
        raise InputError(f"the phrases of {file} cannot be read: {error}; correct the file") from None


@cache
def _groups() -> Mapping[str, frozenset[str]]:
    """Return the groups of each product that is known by its name or by its category."""
    found: dict[str, set[str]] = {}
    for name, group in read_phrases().grupos.items():
        # The things of what is no category are its own name.
        for product in (product for listed in group.de for product in things_of(listed)):
            found.setdefault(product.lower(), set()).add(name)
    return {product: frozenset(groups) for product, groups in found.items()}


@lru_cache(maxsize=KEPT_CAMPAIGNS)
def suiting(product: str, offer: str) -> Suiting:
    """Return the phrases that suit a product and an offer and repeat no word of them."""
    known, said, groups = (
        read_phrases(),
        content_words(f"{product} {offer}"),
        _groups().get(product.lower(), frozenset()),
    )
    lower = offer.lower()
    ends = bool(_DEADLINE.search(lower))
    bound = ends or bool(_CONDITION.search(lower))
    is_sentence = lower.split(" ", 1)[0] in known.frases
    cores = (core.texto for core in known.nucleos if not (bound and not core.no_fim) and not (is_sentence and core.com))

    def unsaid(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(text for text in texts if said.isdisjoint(content_words(text)))

    return Suiting(
        unsaid(text for name in sorted(groups) for text in known.grupos[name].aberturas),
        unsaid(known.grupos[GENERAL].aberturas),
        unsaid(cores),
        unsaid([*known.fechos.sempre, *(known.fechos.com_prazo if ends else ())]),
    )


@lru_cache(maxsize=KEPT_CAMPAIGNS)
def content_words(text: str) -> frozenset[str]:
    """Return the words of a text that may stand in a push once; merge fields are none."""
    return frozenset(_WORD.findall(text.lower())) - read_phrases().repetem
