"""Campaign pushes: right, flawed and wrong."""

import re
from typing import Final

from tasks.audit.completions.asked import Asked, Completions
from tasks.audit.completions.prose import TAIL

FITS: Final = 120
"""Length limit of a push, in characters."""
CALLS: Final = ("Aproveite", "Confira", "Garanta", "Corra", "Peça já", "Compre", "Acesse", "Veja")
"""Calls to action."""
FAMILY: Final = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
"""One emoji of seven code points."""


def same_push(asked: Asked) -> Completions:
    """Return the right push in other letters."""
    right = asked.right
    return {
        "space around": f"\n {right} \n\n",
        "small letters": right.lower(),
        "without accents": right.translate(str.maketrans("áàâãéêíóôõúçÁÀÂÃÉÊÍÓÔÕÚÇ", "aaaaeeioooucAAAAEEIOOOUC")),
        "emoji at the end": f"{right} {FAMILY}",
    }


def other_calls(asked: Asked) -> Completions:
    """Return pushes with other, equally good calls to action."""
    return {call: _push(asked, f"{call} no app.") for call in CALLS}


def no_call(asked: Asked) -> Completions:
    """Return a push without a call to action; an offer to take two and pay for one is one by itself."""
    return {} if "leve" in str(asked.reference["offer"]) else {"no call to action": _push(asked, "")}


def formal(asked: Asked) -> Completions:
    """Return the right push in the style of an e-mail."""
    right = asked.right
    return {
        "Prezado": f"Prezado cliente, {right}",
        "Informamos": f"Informamos que temos {_push(asked, '')}",
        "Atenciosamente": f"{right} Atenciosamente, a equipe.",
        "Prezada": f"Prezada cliente, {right}",
        "Cordialmente": f"{right} Cordialmente, sua loja.",
    }


def at_limit(asked: Asked) -> Completions:
    """Return pushes of exactly the length limit, where each displayed character counts once."""
    full = lengthened(asked.right, FITS - 2)
    return {"letters": full, "emoji": f"{full}{FAMILY}"} if len(full) <= FITS - 2 else {}


def too_long(asked: Asked) -> Completions:
    """Return the right push lengthened in steps."""
    return {"160 characters": lengthened(asked.right, 160), "200 characters": lengthened(asked.right, 205)}


def without_facts(asked: Asked) -> Completions:
    """Return pushes without the product or the offer."""
    product = str(asked.reference["product"])
    return {
        "no product": f"Tudo{asked.right[len(product) :]}",
        "no offer": _offering(asked, "novidades no app"),
    }


def untrue(asked: Asked) -> Completions:
    """Return pushes with another offer than the campaign's."""
    offer = str(asked.reference["offer"])
    found = {
        "more than is offered": _offering(asked, f"{offer} e mais um brinde grátis"),
        "offer denied": _offering(asked, f"não tem {offer}"),
    }
    if "%" in offer or "R$" in offer:
        unit = re.sub(r"(\d+)%", r"R$ \1", offer) if "%" in offer else re.sub(r"R\$ (\d+)", r"\1%", offer)
        found["another unit"] = _offering(asked, unit)
    if re.search(r"\d", offer):
        another = re.sub(r"\d{1,9}", lambda number: str(int(number[0]) + 3), offer, count=1)
        found["another amount"] = _offering(asked, another)
    return found


def other_amounts(asked: Asked) -> Completions:
    """Return the right push with one number of the offer too high, for each."""
    offer = str(asked.reference["offer"])
    return {
        f"number {place}": _offering(asked, offer[: found.start()] + str(int(found[0]) + 3) + offer[found.end() :])
        for place, found in enumerate(re.finditer(r"\d+", offer), 1)
    }


def offers_written_otherwise(asked: Asked) -> Completions:
    """Return pushes of the same offer as a shop writes it too: with `reais`, `vezes`, `pague` without `e`."""
    offer = str(asked.reference["offer"])
    found = {}
    if "R$" in offer:
        found["reais"] = _offering(asked, re.sub(r"R\$ (\d+)", r"\1 reais", offer))
    if "x sem juros" in offer:
        found["vezes"] = _offering(asked, offer.replace("x sem", " vezes sem"))
    if "leve" in offer:
        found["without e"] = _offering(asked, offer.replace(" e pague", ", pague"))
    return found


def wrong_answer(asked: Asked) -> Completions:  # noqa: ARG001 - every maker's signature
    """Return a well-formed push on a topic of no campaign."""
    return {"another campaign": "Guarda-chuvas coloridos com 13% de desconto no PIX! Aproveite no app."}


def several(asked: Asked) -> Completions:
    """Return the right push twice."""
    return {
        "two lines": f"{asked.right}\n{asked.right}",
        "options": f"{asked.right}\n\n{_push(asked, 'Confira no app.')}\n\n{_push(asked, 'Garanta no app.')}",
    }


def in_english(asked: Asked) -> Completions:
    """Return an English push that names product and offer literally."""
    product, offer = asked.reference["product"], asked.reference["offer"]
    return {
        "English": f"Get your {product} with {offer}! Hurry and buy it in our app, only this week.",
        "English with small words": f"As a gift or a treat, do not miss it: {offer} em {product}! All in our app.",
    }


def lengthened(text: str, characters: int) -> str:
    """Return a text with prose appended, up to a number of characters."""
    tail = TAIL[: max(characters - len(text) - 2, 0)].rpartition(" ")[0]
    return f"{text} {tail.rstrip(',;')}."


def _push(asked: Asked, call: str) -> str:
    """Return the right push with another call to action at its end."""
    statement, mark, _ = asked.right.rpartition(". ")
    return f"{statement}{mark}{call}".strip()


def _offering(asked: Asked, offer: str) -> str:
    """Return the right push with something else in place of its offer."""
    return asked.right.replace(str(asked.reference["offer"]), offer)
