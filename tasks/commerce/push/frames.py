"""Frames of a push: which of its harmless words may not stand together, whatever each says alone.

A gift that nobody offers, a threat, a statement about a shopper's people, home, body or account, and about the state of
shop or offer are made of words that good pushes have; `data/campaigns/frames.toml` lists what may be said of each.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasks.commerce.push.notation import NEUTRAL, PART
from tasks.commerce.text.text_form import fold

if TYPE_CHECKING:
    from tasks.commerce.push.lines import Campaign

DATA_FILES: Final = ("data/campaigns/frames.toml",)
_FILE: Final = Path(__file__).resolve().parents[3] / "data" / "campaigns" / "frames.toml"


def _read() -> Mapping[str, Mapping[str, frozenset[str]]]:
    read: dict[str, dict[str, list[str]]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {name: {use: frozenset(map(fold, words)) for use, words in uses.items()} for name, uses in read.items()}


FRAMES: Final = _read()
_OWNED, _CHOICE, _DELIVERY = FRAMES["owned"], FRAMES["choice"], FRAMES["delivery"]
_WITH_OBJECT: Final = {verb: FRAMES[name] for name in ("act", "gift") for verb in FRAMES[name]["verbs"]}
_GIVES: Final = FRAMES["gift"]["verbs"]
_WINS: Final = frozenset(("ganhe", "ganha", "ganham", "ganhar"))
_GIFT: Final = f"{PART}brinde"
SHOP: Final = FRAMES["shop"]["nouns"]
AFTER_COMMA: Final = FRAMES["limit"]["after_comma"]
AFTER_STOP: Final = FRAMES["limit"]["after_stop"]
_OR: Final = "ou"
_IF: Final = "se"
_BEFORE_SELF: Final = frozenset(("vai", "vao", "para", "pra", "pode", "quer", "de"))
"""Words after which `se` is the shopper's own: `vai se apaixonar`."""
_IF_REACH: Final = 4
"""Words after `se` among which the verb of a condition is looked for."""
_CONDITION_ENDS: Final = ("ar", "er", "ir", "or", "sse")
_ENDORSING, _PAYING = FRAMES["endorsement"], FRAMES["payment"]
_MEANT: Final = frozenset(f"{PART}{part}" for part in ("desconto", "cashback", "cupom"))
"""Parts that have an amount."""
_OTHERWISE_PAID: Final = frozenset(f"{PART}{part}" for part in ("acima_de", "metade", "leve_pague", "sem_juros"))
TRIGGERS: Final = _ENDORSING["verbs"].union(_WITH_OBJECT) | _OWNED["possessives"] | _DELIVERY["places"] | {_OR, _IF}
"""Words without which no frame is there."""
INVERTING: Final = _PAYING["verbs"] | _GIVES | {_GIFT}
"""Words without which an offer is not turned round."""


def wrong_frames(clause: Sequence[str], opens: bool, asks: bool, campaign: "Campaign") -> int:
    """Count the frames of a clause that say what no push may.

    Args:
        clause: Its words in uniform notation.
        opens: Whether it stands before the offer or asks: it promises nothing.
        asks: Whether it is of a question.
        campaign: What fits its lines may be had; of them, what is sold is given, and what is offered is won.
    """
    fits, sold = campaign.suits, campaign.sells
    count = 0
    if not _DELIVERY["places"].isdisjoint(clause) and not (asks or (opens and _DELIVERY["verbs"].isdisjoint(clause))):
        count += not _DELIVERY["times"].isdisjoint(clause)
    for place, word in enumerate(clause):
        if word not in TRIGGERS:
            continue
        after = clause[place + 1 :]
        if word in _WITH_OBJECT:
            frame = _WITH_OBJECT[word]
            allowed = campaign.of_offer.words.__contains__ if word in _WINS else sold if word in _GIVES else fits
            count += not _ends_in(after, frame["between"], frame["objects"] | frame["leads"], allowed)
        elif word in _ENDORSING["verbs"]:
            count += not asks and _endorses(clause, place, fits)
        elif word in _OWNED["possessives"]:
            count += not (asks and after and sold(after[0])) and _says_of_owned(after, fits)
        elif word == _OR:
            count += after[:1] == [NEUTRAL] or not _ends_in(after, _CHOICE["between"], _CHOICE["objects"], fits)
        elif word == _IF and (not place or clause[place - 1] not in _BEFORE_SELF):
            count += any(each.endswith(_CONDITION_ENDS) for each in after[:_IF_REACH])
    return count


def _endorses(clause: Sequence[str], place: int, fits: Callable[[str], bool]) -> bool:
    """Return whether somebody else than the shopper, or what belongs to them, uses or praises something."""
    before = [word for word in clause[:place] if word not in _ENDORSING["between"]]
    return bool(before) and before[-1] not in _ENDORSING["who"] | _OWNED["nouns"] and not fits(before[-1])


def inverts(clause: Sequence[str], campaign: "Campaign") -> int:
    """Count what a clause makes of the offer's own words against it.

    The shopper pays what is taken off (`pague R$ 10`), gets the benefit for its amount (`com R$ 10 você ganha
    desconto`), or the product as the gift (`ganhe panelas`, `panelas de brinde`).
    """
    own = campaign.of_offer.words
    amounts = [place for place, word in enumerate(clause) if word[0].isdigit() and word in own]
    count = 0
    if amounts and _OTHERWISE_PAID.isdisjoint(own):
        before = [word for word in clause[: amounts[0]] if word not in _PAYING["between"]]
        count += before[-1:] != [] and before[-1] in _PAYING["verbs"]
        parts = [place for place, word in enumerate(clause) if word in _MEANT]
        if parts and parts[0] > amounts[0]:
            count += not _GIVES.isdisjoint(clause[amounts[0] : parts[0]])
    for place, word in enumerate(clause):
        if word == _GIFT and place > 1 and clause[place - 1] in ("de", "como"):
            count += campaign.sells(clause[place - 2]) and clause[place - 2] not in own
    return count


def receives(after: Sequence[str], fits: Callable[[str], bool]) -> bool:
    """Return whether who gets an offer, or what it is for, is somebody that a push may name."""
    receiver = FRAMES["receiver"]
    first = next((word for word in after if word not in receiver["between"]), "")
    return first in receiver["who"] or is_infinitive(first) or fits(first)


def is_infinitive(word: str) -> bool:
    """Return whether a word has the form of a verb's infinitive."""
    return len(word) > 2 and word[-2:] in ("ar", "er", "ir")


def _ends_in(
    after: Sequence[str], between: AbstractSet[str], objects: AbstractSet[str], fits: Callable[[str], bool]
) -> bool:
    """Return whether the first word of a phrase that is not between is one of its objects, or there is none."""
    first = next((word for word in after if word not in between), "")
    return not first or not first.isalpha() or first in objects or fits(first)


def _says_of_owned(after: Sequence[str], fits: Callable[[str], bool]) -> bool:
    """Return whether something is said of who or what belongs to the shopper that is not in the list."""
    if not after or after[0] not in _OWNED["nouns"]:
        return False
    said = next((word for word in after[1:] if word not in _OWNED["before"]), "")
    return bool(said) and said.isalpha() and said not in _OWNED["says"] and not fits(said)
