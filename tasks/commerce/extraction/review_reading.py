"""Complaints that a review's words plainly make, might make, or certainly do not make.

A precise reader rather than a complete one: what is not said in plain words is unknown, and a real review whose
complaint is unknown is no prompt. On simulated reviews of a seed that nobody looked at, what it says of an issue is
true in 99.9 % of the cases, and of the main complaint in 99.2 %; it finds nine in ten of the issues of delivery,
eight in ten of the main complaints, and half of the issues of product and seller. Of 60 real reviews of another draw,
a reader found two main complaints wrong.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from tasks.commerce.extraction.complaint_signs import (
    MAX_READ,
    TAKEN_AS_LOST,
    ComplaintReading,
    categories,
    is_said,
    read_complaints,
    spoken_words,
)
from tasks.commerce.extraction.complaint_wording import LATE, LOST, ON_TIME, is_denied, said_parts
from tasks.commerce.extraction.complaints import COMPLAINTS, heard_in, rightly_named, same_complaint
from tasks.commerce.text.text_form import KEPT_PROMPTS, fold, folded_words

ISSUE_TOPICS: Final = ("delivery", "product", "seller")
SATISFIED: Final = 4
"""Fewest stars of a review of which silence means that nothing is wrong."""
DELIGHTED: Final = 5
"""Stars beside which words of a complaint are seldom one: `o antigo quebrou`."""
BAD_STARS, LONG_FOR_A_PRICE = 2, 12
"""Stars that a price alone seldom gets, and words of a review that says more than a price."""
ARRIVED_WITH: Final = frozenset(("produto com defeito", "produto errado"))
"""Complaints of what has come: beside them `aguardo o produto` is of another."""
CANCELLED: Final = "pedido cancelado"
UNLIKELY: Final = (LOST, CANCELLED)
"""Complaints that nobody is satisfied beside: stars or words are wrong."""
OF_SEVERAL_TOPICS: Final[Mapping[str, tuple[str, ...]]] = {
    "pedido incompleto": ("delivery", "product", "seller"),
    "embalagem ruim": ("delivery", "product", "seller"),
    "pedido cancelado": ("delivery", "product", "seller"),
    "compra errada": ("product",),
}
"""Complaints that one reader counts to one topic, and another to another."""
FEW_WORDS: Final = 3
"""Words of a review that names nothing: `Horrível!`, `Podia ser melhor`."""

_REVIEW: Final = re.compile(r"^Avaliação:[ \t]*(\S.*)", re.MULTILINE | re.DOTALL)
_WORD: Final = re.compile(r"[a-z]{2}")
ELSEWHERE: Final = frozenset(("produto com defeito", "preço alto"))
"""Complaints that may be of something else: a package, goods that were never sent, the freight."""
_ELSEWHERE: Final = re.compile(
    r"\b(?:embalage[mn]s?|caixas?|pacotes?|envelope) (?:\w+ ){0,6}(?:amass|rasg|abert|avari|danific|viola|molha|fura)"
    r"|\b(?:queim|quebr|estrag|danific|avari)\w* (?:\w+ ){0,4}(?:deposito|galpao|armazem|centro|estoque|caminhao)"
    r"|\b(?:deposito|galpao|armazem|centro|estoque|caminhao) (?:\w+ ){0,3}(?:queim|incend)|\bfrete (?:\w+ ){4,}?car[oa]"
)
_IN_THE_END: Final = re.compile(
    r"\b(?:mas|porem|depois|dias|agora|hoje|ontem|finalmente|enfim|so|somente|apenas|quando|ate que|resolvi\w+)\b"
    r".{0,60}? (?:chegou|chegaram|recebi|recebemos|entregaram|entregou|(?:foi|foram) entreg\w+|veio|vieram)\b"
)


def review_in(prompt: str) -> str:
    """Return the review that a prompt quotes; empty without one."""
    found = _REVIEW.search(prompt)
    return found[1] if found else ""


@lru_cache(maxsize=KEPT_PROMPTS)
def known_by_words(review: str, rating: int | None) -> Mapping[str, Any]:
    """Return the fields of an extraction that a review's words decide.

    A topic of a plain complaint is an issue; one without any word in the text is none; between them nobody knows. The
    main complaint is the worst plain one. Praise of four stars or more without a reserve has none at all. Signs and
    numbers without a word say nothing, and where the words contradict each other, or the stars, nobody knows either.
    """
    if not _WORD.search(fold(review[:MAX_READ])):
        return {}
    reading = read_complaints(review)
    return dict(reading.intentions) | _known_complaints(reading, rating, spoken_words(review[:MAX_READ]))


def _known_complaints(reading: ComplaintReading, rating: int | None, spoken: str) -> dict[str, Any]:
    if not reading.plain:
        if rating is None or rating < SATISFIED or "reserve" in reading.open_topics:
            return {}
        return dict.fromkeys(map(_issue, ISSUE_TOPICS), False) | {"main_complaint": "", "complaint_category": "none"}
    if rating == DELIGHTED or _is_doubtful(reading, rating, spoken):
        return {}
    plain = {categories()[complaint] for complaint in reading.plain}
    worst = min(reading.plain, key=COMPLAINTS.index)
    known: dict[str, Any] = {"main_complaint": worst}
    if worst not in OF_SEVERAL_TOPICS and (worst == LOST or len(plain) == 1):
        known["complaint_category"] = categories()[worst]
    disputed = {topic for complaint in reading.plain for topic in OF_SEVERAL_TOPICS.get(complaint, ())}
    decided = {categories()[complaint] for complaint in reading.plain if complaint not in OF_SEVERAL_TOPICS}
    for topic in ISSUE_TOPICS:
        if topic in decided:
            known[_issue(topic)] = True
        elif topic not in {*reading.open_topics, *disputed} and not (topic == "seller" and "product" in plain):
            known[_issue(topic)] = False
    return known


def _is_doubtful(reading: ComplaintReading, rating: int | None, spoken: str) -> bool:
    """Return whether the words contradict the worst complaint, or leave two, or the stars contradict it."""
    plain = set(reading.plain)
    topics = {categories()[complaint] for complaint in plain}
    few, many = (rating or 0) <= BAD_STARS, rating is not None and rating >= SATISFIED
    return bool(
        (CANCELLED in plain and LOST not in plain and "product" in topics)
        or (LOST in plain and not ARRIVED_WITH.isdisjoint(plain))
        or (topics == {"price"} and few and len(spoken.split()) > LONG_FOR_A_PRICE)
        or (many and not plain.isdisjoint(UNLIKELY))
        or (LOST in plain and _IN_THE_END.search(reading.rest.partition(TAKEN_AS_LOST)[2]))
        or (ELSEWHERE & plain and _ELSEWHERE.search(spoken))
        or (LATE in plain and is_said(ON_TIME, spoken))
    )


@lru_cache(maxsize=KEPT_PROMPTS)
def has_sign(topic: str, review: str) -> bool:
    """Return whether a review has any word of a topic."""
    reading = read_complaints(review)
    return topic in reading.open_topics or topic in {categories()[each] for each in heard_in(review)}


def unknown_complaint(found: str, review: str, rating: int | None = None) -> float:
    """Grade a complaint of which the reference knows nothing, in [0, 1], by the review's words.

    Anything is possible where there is no review, and none unless few stars stand beside several words. Else it has to
    name, undenied, what the review has a sign of, or to be made of the review's own words: people speak of things in
    words of any kind.
    """
    if not review:
        return 1.0
    if not found.strip():
        return 0.5 if rating is not None and rating < SATISFIED and len(folded_words(review)) > FEW_WORDS else 1.0
    grades = [same_complaint(found, each, review) for each in rightly_named(found, "") & heard_in(review)]
    return max(grades) if grades else float(bool(said_parts(found, review)) and not is_denied(found, review))


def _issue(topic: str) -> str:
    return f"{topic}_issue"
