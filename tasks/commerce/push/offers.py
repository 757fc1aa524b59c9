"""Offer check of a push: its campaign's offer is made, whole, in any faithful notation.

An offer is parsed into its amounts with their units (`20%`, `R$ 25`, `10x`, items taken, items paid), its parts as
`data/campaigns/notations.toml` lists them (a benefit, a deadline, a condition), and other words that are in no list.
Notations of an amount are equal: `25 reais` and `R$ 25`, `vinte por cento` and `20%`, `três` and `3`.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tasks.commerce.push.notation import CLAIM, PART, parts, uniform
from tasks.commerce.text.portuguese_numbers import numbers_of
from tasks.commerce.text.text_form import FUNCTION_WORDS, KEPT_PROMPTS, share_present, words

Amount = tuple[float, str]
"""A number, and its unit."""

FALSE_OFFER: Final = 0.3
"""Share of the grade that an offer keeps if an amount, a deadline or a condition of the given one is not made."""
VERB_REACH: Final = 4
"""Words before a number among which the verb that takes or pays so many is looked for."""
HALF: Final[Amount] = (50.0, "%")
HARD_PARTS: Final = frozenset(
    ("acima_de", "ultimas_unidades", "hoje", "domingo", "meia_noite", "fim_de_semana", "segunda_unidade", "sem_juros")
)
"""Parts without which an offer is another one."""
_UNITS: Final = {"%": "%", "x": "x", "reais": "r$", "real": "r$"} | dict.fromkeys(
    ("vezes", "parcelas", "parcelinhas", "prestacoes", "pagamentos"), "x"
)
_BOUGHT: Final = "compre"
_TAKES_AND_PAYS: Final = {
    form: verb
    for verb, forms in {
        "leve": ("leve", "leva", "levando", "levar", "leves"),
        "pague": ("pague", "paga", "pagando", "pagar"),
        _BOUGHT: ("compre", "compra", "comprando", "comprar"),
    }.items()
    for form in forms
}
_PAID: Final = frozenset((f"{PART}leve_pague", *(form for form, verb in _TAKES_AND_PAYS.items() if verb == "pague")))
_AT_THE_PRICE: Final = ("por", f"{PART}leve_pague")


@dataclass(frozen=True)
class Offer:
    """Offer of a campaign, parsed once for all answers to a prompt."""

    amounts: frozenset[Amount]
    parts: tuple[str, ...]
    """Its parts that have notations, with their sign."""
    words: tuple[str, ...]
    """Its other words with meaning."""
    also: frozenset[tuple[str, str]]
    """A part, and a word that makes it where it is offered."""
    allowed: frozenset[str]
    """Words that a push may have because they say the offer."""


@lru_cache(maxsize=KEPT_PROMPTS)
def read_offer(offer: str) -> Offer:
    """Parse a campaign's offer."""
    spelled = uniform(words(offer))
    amounts = amounts_among(spelled)
    named = {word.removeprefix(PART) for word in spelled if word.startswith(PART)}
    takes = any(unit == "pague" for _, unit in amounts)
    known = named | {"leve_pague"} if takes else named
    beside = {word for part in known for use in ("also", "beside") for word in parts()[part][use]}
    listed = {word for part in known for word in parts()[part]["said"]}
    others = (word for word in spelled if word.isalpha() and word not in FUNCTION_WORDS | beside | listed | {"x"})
    free = {word for word in spelled if not word[0].isdigit()}
    if takes or "cupom" in named or "metade" in named:
        # A voucher is a discount, and so is paying for fewer items than taken.
        free.add(f"{PART}desconto")
    if takes:
        free.add(f"{PART}leve_pague")
    if HALF in amounts:
        free.add(f"{PART}metade")
    needed = named - {"desconto"} if "cupom" in named and len(named) > 1 else named
    return Offer(
        amounts=frozenset(amounts | ({HALF, (2.0, "")} if "metade" in named else set())),
        parts=tuple(sorted(f"{PART}{part}" for part in needed)),
        words=tuple(dict.fromkeys(others)),
        also=frozenset((f"{PART}{part}", word) for part in needed for word in parts()[part]["also"]),
        allowed=frozenset(free | beside | {f"{CLAIM}{word}" for word in beside if " " in word} | set(words(offer))),
    )


def amounts_among(spelled: Sequence[str]) -> set[Amount]:
    """Return the amounts among words in uniform notation; `3 por 2` and `compre 2, leve 3` take three and pay two."""
    found = list(_amounts(spelled))
    if len(found) > 1:
        found = _as_taken_and_paid(found)
    if f"{PART}leve_pague" in spelled:
        found = [(number, unit or "leve") for number, unit in found]
    if f"{PART}metade" in spelled:
        found.append(HALF)
    return set(found)


def _amounts(spelled: Sequence[str]) -> Iterator[Amount]:
    # Digits sort before letters: one comparison skips most words.
    for place in [place for place, word in enumerate(spelled) if word < ":" and word[0] >= "0"]:
        unit = _unit(spelled, place)
        for number in numbers_of(spelled[place]):
            yield number, unit
    if "um" in spelled and not _PAID.isdisjoint(spelled):
        for place, word in enumerate(spelled):
            if word == "um" and not _PAID.isdisjoint(spelled[max(place - 2, 0) : place]):
                yield 1.0, "pague"


def _unit(spelled: Sequence[str], place: int) -> str:
    after = spelled[place + 1] if place + 1 < len(spelled) else ""
    if after in _UNITS:
        return _UNITS[after]
    before = spelled[max(place - VERB_REACH, 0) : place]
    if before and before[-1] in ("r$", f"{PART}acima_de"):
        return "r$"
    if before and (before[-1] in _AT_THE_PRICE[1:] or (before[-1] == "por" and spelled[place - 2][0].isdigit())):
        return "pague"
    if after in _AT_THE_PRICE and spelled[place + 2 : place + 3] and spelled[place + 2][0].isdigit():
        return "leve"
    return next((_TAKES_AND_PAYS[word] for word in reversed(before) if word in _TAKES_AND_PAYS), "")


def _as_taken_and_paid(found: Sequence[Amount]) -> list[Amount]:
    units = {unit for _, unit in found}
    if _BOUGHT not in units:
        return list(found)
    bought = "pague" if "leve" in units else "leve"
    return [(number, bought if unit == _BOUGHT else unit) for number, unit in found]


def grade_offer(offer: Offer, spelled: AbstractSet[str], amounts: AbstractSet[Amount]) -> float:
    """Grade how truly words in uniform notation make an offer, in [0, 1]."""
    wanted = len(offer.parts) + len(offer.words)
    missing = [
        part for part in offer.parts if part not in spelled and not _said_otherwise(offer, part, spelled, amounts)
    ]
    lacking = offer.amounts - amounts if offer.amounts else ()
    count = len(offer.amounts)
    if f"{PART}metade" in offer.parts:
        # Half of the price is an amount in words.
        lacking, count = (), 0
    words_there = share_present(offer.words, spelled) if offer.words else 1.0
    if not missing and not lacking and words_there == 1.0:
        return 1.0
    absent = len(missing) + len(lacking) + (1 - words_there) * len(offer.words)
    whole = not lacking and all(part.removeprefix(PART) not in HARD_PARTS for part in missing)
    return (1 - absent / (wanted + count)) * (1.0 if whole else FALSE_OFFER)


def _said_otherwise(offer: Offer, part: str, spelled: AbstractSet[str], amounts: AbstractSet[Amount]) -> bool:
    if part == f"{PART}metade" and HALF in amounts:
        return True
    if part == f"{PART}desconto" and HALF in offer.amounts and f"{PART}metade" in spelled:
        return True
    return any(word in spelled for of, word in offer.also if of == part)


def invented_amounts(offer: Offer, amounts: Iterable[Amount], given: AbstractSet[float]) -> int:
    """Count the amounts that neither the offer nor, without a unit, the prompt's other lines have."""
    return sum(
        amount not in offer.amounts and not (amount[1] in ("", "leve", "compre") and amount[0] in given)
        for amount in amounts
    )
