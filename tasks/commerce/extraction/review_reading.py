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
from tasks.commerce.extraction.complaint_wording import LATE, LOST, SHORT, TOO_LONG, is_denied
from tasks.commerce.extraction.complaints import COMPLAINTS, heard_in, said_complaints
from tasks.commerce.text.text_form import FUNCTION_WORDS, KEPT_PROMPTS, fold, folded_words, ramp

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
_ELSEWHERE: Final = re.compile(
    r"\b(?:embalage[mn]s?|caixas?|pacotes?|envelope) (?:\w+ ){0,6}(?:amass|rasg|abert|avari|danific|viola|molha|fura)"
    r"|\b(?:queim|quebr|estrag|danific|avari)\w* (?:\w+ ){0,4}(?:deposito|galpao|armazem|centro|estoque|caminhao|transport)"
    r"|\b(?:deposito|galpao|armazem|centro|estoque|caminhao) (?:\w+ ){0,3}(?:queim|incend)|\bfrete (?:\w+ ){4,}?car[oa]"
)
"""What is torn, burnt or dear there is no product."""
_IN_THE_END: Final = re.compile(
    r"\b(?:mas|porem|depois|dias|agora|hoje|ontem|finalmente|enfim|so|somente|apenas|quando|ate que|resolvi\w+)\b"
    r".{0,60}? (?:chegou|chegaram|recebi|recebemos|entregaram|entregou|(?:foi|foram) entreg\w+|veio|vieram)\b"
)
_ON_TIME: Final = re.compile(
    r"\b(?:no prazo|dentro d[oe] (?:\w+ )?prazo|antes d[oae] (?:\w+ )?(?:prazo|data|dia|tempo)|na data|em dia"
    r"|(?:prazo|data) (?:foi )?(?:cumprid|respeitad|certo|certa)\w*|(?:cumpri|respeit)\w+ (?:o |a )?(?:prazo|data))\b"
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
    topics = {categories()[complaint] for complaint in reading.plain}
    if CANCELLED in reading.plain and LOST not in reading.plain and "product" in topics:
        return True
    if LOST in reading.plain and not ARRIVED_WITH.isdisjoint(reading.plain):
        return True
    if _ELSEWHERE.search(spoken) and not {"produto com defeito", "preço alto"}.isdisjoint(reading.plain):
        return True
    if topics == {"price"} and (rating or 0) <= BAD_STARS and len(spoken.split()) > LONG_FOR_A_PRICE:
        return True
    if rating is not None and rating >= SATISFIED and set(UNLIKELY) & set(reading.plain):
        return True
    if LOST in reading.plain and _IN_THE_END.search(reading.rest.partition(TAKEN_AS_LOST)[2]):
        return True
    return LATE in reading.plain and is_said(_ON_TIME, spoken)


@lru_cache(maxsize=KEPT_PROMPTS)
def has_sign(topic: str, review: str) -> bool:
    """Return whether a review has any word of a topic."""
    reading = read_complaints(review)
    return topic in reading.open_topics or topic in {categories()[each] for each in heard_in(review)}


def unknown_complaint(found: str, review: str, rating: int | None = None) -> float:
    """Grade a complaint of which the reference knows nothing, in [0, 1], by the review's words.

    Anything is possible where there is no review, and none unless few stars stand beside several words. A known
    complaint needs a sign of it, a word of its topic, or another word of the review: people speak of things in words of
    any kind. A denied complaint is none, either.
    """
    if not review:
        return 1.0
    if not found.strip():
        return 0.5 if rating is not None and rating < SATISFIED and len(folded_words(review)) > FEW_WORDS else 1.0
    named = said_complaints(fold(found[: TOO_LONG + 1])) | set(read_complaints(found).plain)
    shared = _content(found[: TOO_LONG + 1]) & _content(review)
    topics = read_complaints(review).open_topics
    unheard = [each for each in named - heard_in(review) if not shared and categories()[each] not in topics]
    unfit = [each for each in named - heard_in(review) if categories()[each] not in {*topics, "product", "other"}]
    if is_denied(found, review) or unheard or unfit or not (shared or named & heard_in(review)):
        return 0.0
    return ramp(len(found), TOO_LONG, SHORT)


@lru_cache(maxsize=KEPT_PROMPTS)
def _content(text: str) -> frozenset[str]:
    return frozenset(folded_words(fold(text[:MAX_READ]))) - FUNCTION_WORDS


def _issue(topic: str) -> str:
    return f"{topic}_issue"
