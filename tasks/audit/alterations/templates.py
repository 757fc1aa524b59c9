"""Alterations of a template of proof-read phrases, whose product and offer are merge fields."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from tasks.audit.alterations.library import NOTHING_EARNED, Alteration, Change, GoodAnswer, from_texts

_SLOT: Final = re.compile(r"\{(produto|oferta)\}")
_SENTENCE: Final = re.compile(r"[^.!?]+[.!?]+\s*")


def _with_slot(**other: str) -> Change:
    return lambda good: _SLOT.sub(lambda slot: other.get(slot[1], slot[0]), good.text)


def _filled(good: GoodAnswer) -> str | None:
    lines = dict(re.findall(r"^(\w+): (.+)$", good.prompt, re.MULTILINE))
    return _SLOT.sub(lambda slot: lines[slot[1].capitalize()], good.text) if _SLOT.search(good.text) else None


def _in_sentence(text: str) -> Change:
    return lambda good: f"{good.text[:-1]} {text}{good.text[-1]}"


def _backwards(good: GoodAnswer) -> str:
    return " ".join(each.strip() for each in reversed(_SENTENCE.findall(good.text)))


def _plain_letters(good: GoodAnswer) -> str:
    return "".join(each for each in unicodedata.normalize("NFD", good.text) if not unicodedata.combining(each))


_ALTERED: Final[Mapping[str, tuple[str, Change]]] = {
    "names for slots": ("Writes product and offer itself.", _filled),
    "no product": ("Names no product.", _with_slot(produto="Tudo")),
    "no offer": ("Makes no offer.", _with_slot(oferta="novidade")),
    "invented offer": ("Makes an offer of its own.", _with_slot(oferta="90% de desconto")),
    "offer doubled": ("Says the offer twice.", _with_slot(produto="{oferta}")),
    "more than the offer": ("Promises more than the offer.", _with_slot(oferta="Mais de {oferta}")),
    "slots exchanged": ("Puts the offer for the product.", _with_slot(produto="{oferta}", oferta="{produto}")),
    "slot in a slot": ("Has a slot inside of a slot.", _with_slot(produto="{{produto}}")),
    "unknown slot": ("Has a slot that nothing fills.", _with_slot(produto="{cliente.senha}")),
    "free words": ("Has words that no phrase has.", _in_sentence("de verdade")),
    "promise": ("Promises what nobody offers.", _in_sentence("com entrega grátis")),
    "backwards": ("Begins with its end.", _backwards),
    "plain letters": ("Has lost its accents.", _plain_letters),
    "shouting": ("Is written in capitals.", lambda good: good.text.upper()),
}


PUSH: Final = (
    *(Alteration(name, says, change, NOTHING_EARNED) for name, (says, change) in _ALTERED.items()),
    *from_texts("push"),
)
