"""Alterations of a template of proof-read phrases, whose product and offer are merge fields."""

import random
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

from tasks.audit.alterations.library import (
    NOTHING_EARNED,
    UNSENDABLE,
    Alteration,
    Change,
    GoodAnswer,
    around,
    at_most,
    at_most_of,
    constant,
)

_SLOT: Final = re.compile(r"\{(produto|oferta)\}")
_SENTENCE: Final = re.compile(r"[^.!?]+[.!?]+\s*")


def _with_slot(other: Mapping[str, str]) -> Change:
    return lambda good, _: _SLOT.sub(lambda slot: other.get(slot[1], slot[0]), good.text)


def _filled(good: GoodAnswer, generator: random.Random) -> str | None:  # noqa: ARG001 - every change's signature
    lines = dict(re.findall(r"^(\w+): (.+)$", good.prompt, re.MULTILINE))
    return _SLOT.sub(lambda slot: lines[slot[1].capitalize()], good.text) if _SLOT.search(good.text) else None


def _in_sentence(text: str) -> Change:
    return lambda good, _: f"{good.text[:-1]} {text}{good.text[-1]}"


def _backwards(good: GoodAnswer, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    return " ".join(each.strip() for each in reversed(_SENTENCE.findall(good.text)))


def _plain_letters(good: GoodAnswer, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    parts = unicodedata.normalize("NFD", good.text)
    return "".join(each for each in parts if not unicodedata.combining(each))


def _of_templates() -> Iterator[Alteration]:
    nothing = at_most(NOTHING_EARNED)
    for name, says, change in (
        ("names for slots", "Writes product and offer itself.", _filled),
        ("no product", "Names no product.", _with_slot({"produto": "Tudo"})),
        ("no offer", "Makes no offer.", _with_slot({"oferta": "novidade"})),
        ("invented offer", "Makes an offer of its own.", _with_slot({"oferta": "90% de desconto"})),
        ("offer doubled", "Says the offer twice.", _with_slot({"produto": "{oferta}"})),
        ("more than the offer", "Promises more than the offer.", _with_slot({"oferta": "Mais de {oferta}"})),
        (
            "slots exchanged",
            "Puts the offer for the product.",
            _with_slot({"produto": "{oferta}", "oferta": "{produto}"}),
        ),
        ("slot in a slot", "Has a slot inside of a slot.", _with_slot({"produto": "{{produto}}"})),
        ("unknown slot", "Has a slot that nothing fills.", _with_slot({"produto": "{cliente.senha}"})),
        ("shame", "Shames who reads it.", around("Rainha do lar merece! @")),
        ("threat", "Threatens who reads it.", around("@ Senão vai se arrepender!")),
        ("free words", "Has words that no phrase has.", _in_sentence("de verdade")),
        ("promise", "Promises what nobody offers.", _in_sentence("com entrega grátis")),
        ("link", "Has a link.", around("@ www.premios-gratis.example")),
        ("line more", "Has a second line.", around("@\nAproveite!")),
        ("backwards", "Begins with its end.", _backwards),
        ("plain letters", "Has lost its accents.", _plain_letters),
        ("shouting", "Is written in capitals.", lambda good, _: good.text.upper()),
        ("twice in a line", "Says all of it twice.", around("@ @")),
        ("e-mail", "Greets as an e-mail does.", around("Prezado cliente, @ Atenciosamente, a loja.")),
        ("slots alone", "Has no words.", constant("{produto} {oferta}")),
        ("English", "Speaks English.", constant("Hi! {produto} with {oferta}. Check it out!")),
    ):
        yield Alteration(f"{name} (push)" if name == "English" else name, says, change, nothing)
    strange = constant("Seu pet agradece! Em {produto}: {oferta}. Hora de dormir!")
    yield Alteration("another's opener", "Begins as for another product.", strange, at_most_of(UNSENDABLE))


PUSH: Final = tuple(_of_templates())
