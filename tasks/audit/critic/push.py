"""Critic of pushes: pushes that no shop would send, and good pushes in other words."""

import random
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tasks.audit.critic import text_changes
from tasks.audit.critic.alteration import Case, Change, CriticAlteration
from tasks.audit.critic.wordings import Slots, capital, read_wordings, written

_WORDS: Final[Mapping[str, Any]] = read_wordings("push")
_NUMBER: Final = re.compile(r"\d+")
_CONDITION: Final = re.compile(
    r" (?:só hoje|até domingo|até meia-noite|neste fim de semana|nas últimas \d+ unidades"
    r"|(?:nas compras )?acima de R\$ \d+)$"
)
_ABSENT: Final = {
    "no_deadline": re.compile("só hoje|até domingo|até meia-noite|neste fim de semana"),
    "paid_freight": re.compile("frete"),
    "no_gift": re.compile("brinde"),
}
"""Slots that are there only where the offer does not have it."""
_APPLIES_TO_OFFERS: Final = 0.01
"""Each of a campaign's kinds of offer has a share of the prompts."""


def slots_of(case: Case, generator: random.Random) -> Slots:
    """Return what a wording can say of the campaign."""
    product, offer = str(case.reference["product"]), str(case.reference["offer"])
    others = [other for other in _WORDS["words"]["others"] if other.split()[0] not in product]
    known = {
        "product": product,
        "Product": capital(product),
        "offer": offer,
        "Offer": capital(offer),
        "other": generator.choice(others),
    }
    absent = {name: "" for name, pattern in _ABSENT.items() if not pattern.search(offer)}
    return known | absent


def _after(case: Case, text: str) -> str:
    return f"{case.answer} {text}"


def _instead(case: Case, text: str) -> str:  # noqa: ARG001 - every way's signature
    return text


def other_offer(change: Callable[[str, random.Random], str | None]) -> Change:
    """Return a change of the offer within the good push."""

    def changed(case: Case, generator: random.Random) -> str | None:
        offer = str(case.reference["offer"])
        other = change(offer, generator)
        if other is None or other == offer:
            return None
        if offer in case.answer:
            return case.answer.replace(offer, other, 1)
        return case.answer.replace(capital(offer), capital(other), 1)

    return changed


def _other_amount(offer: str, generator: random.Random) -> str | None:
    step = generator.choice((2, 3, 4))
    return _NUMBER.sub(lambda number: str(int(number[0]) + step), offer, count=1) if _NUMBER.search(offer) else None


def _other_unit(offer: str, generator: random.Random) -> str | None:  # noqa: ARG001 - every change's signature
    if "%" in offer:
        return re.sub(r"(\d+)%", r"R$ \1", offer, count=1)
    return re.sub(r"R\$ (\d+)", r"\1%", offer, count=1)


def _without_condition(offer: str, generator: random.Random) -> str | None:  # noqa: ARG001 - every change's signature
    return _CONDITION.sub("", offer)


def _in_words(patterns: Mapping[str, str]) -> Callable[[str, random.Random], str | None]:
    def change(offer: str, generator: random.Random) -> str | None:  # noqa: ARG001 - every change's signature
        for pattern, words in patterns.items():
            found = re.fullmatch(pattern, offer)
            if found:
                return _filled(found, words)
        return None

    return change


def _filled(found: re.Match[str], words: str) -> str:
    return re.sub(r"\\(\d)", lambda place: found[int(place[1])] or "", words)


ALTERATIONS: Final = (
    *written("push", slots_of, {"after": _after, "instead": _instead}, "instead"),
    CriticAlteration("other_amount", "unsendable", other_offer(_other_amount), 0.8),
    CriticAlteration("other_unit", "unsendable", other_offer(_other_unit), 0.6),
    CriticAlteration("dropped_condition", "costly", other_offer(_without_condition), 0.2),
    CriticAlteration("turned_round", "unsendable", other_offer(_in_words(_WORDS["turned_round"])), 0.05),
    CriticAlteration("shouting", "costly", text_changes.shouting),
    CriticAlteration("salad", "unsendable", text_changes.salad),
    CriticAlteration("prompt_again", "unsendable", text_changes.prompt_again),
    CriticAlteration("twice", "costly", text_changes.twice),
    CriticAlteration("cut_off", "unsendable", text_changes.cut_off),
    *(
        CriticAlteration(
            f"offer_{entry['name']}", "harmless", other_offer(_in_words(entry["patterns"])), _APPLIES_TO_OFFERS
        )
        for entry in _WORDS["offer"]
    ),
)
