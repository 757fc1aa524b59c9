"""Fields of real reviews: what words and stars say, without what they are often misread for.

The reader of words (`review_reading`) takes a phrase for a complaint wherever it stands. Here it has to be that of one
clause, and neither what came without a notice nor what waits at the post office is lost. In doubt nobody knows.
"""

import re
from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final

from tasks.commerce.extraction.cited.fields import COMPLAINT
from tasks.commerce.extraction.cited.quotation import MOST_WORDS
from tasks.commerce.extraction.complaint_signs import LOST, MAX_READ, read_complaints, spoken_words
from tasks.commerce.extraction.review_reading import CANCELLED, ISSUE_TOPICS, SATISFIED, known_by_words
from tasks.commerce.text.json_fields import sentiment_of
from tasks.commerce.text.text_form import fold

_OF_COMPLAINT: Final = frozenset((COMPLAINT, "complaint_category", *(f"{topic}_issue" for topic in ISSUE_TOPICS)))
_MARKS: Final = ".!?;:, "
_LINKS: Final = frozenset(("e", "mas", "porem", "pois", "porque", "que"))
_OTHER_THINGS: Final = re.compile(
    r"\bnao (?:\w+ ){0,2}?(?:receb|cheg|ve[im]|tem)\w* (?:\w+ ){0,2}?"
    r"(?:avisos?|ligac\w+|nota|selo|mensage\w+|e ?mails?|contato)\b"
    r"|\bpressa (?:em|de|para|pra) receb\w+|\bnao receb\w* (?:na|em|no) (?:cx|caixa|embalagem)\b"
    r"|\baguard\w+ o envio por\b|\btroca e ate \w+ nada\b|\bnao contato disponivel\b"
)
"""What a review lacks beside the goods: a notice, an invoice, a box."""
_FETCHED: Final = re.compile(
    r"\b(?:buscar?|retira\w*|pegar|pega|retire)\b.{0,40}\b(?:correios?|agencia|posto|transportadora|centro de)\b"
    r"|\b(?:correios?|agencia|posto|transportadora|centro de)\b.{0,40}\b(?:buscar?|retira\w*|pegar|retire)\b"
    r"|\b(?:tive|tivemos|tenho|ter|precisei) (?:que |q |de )?(?:ir )?(?:buscar|retirar|pegar)\b"
)
"""It waits at the post office, or was fetched there: some call that undelivered, others do not."""
_ARRIVED: Final = re.compile(
    r"\b(?:produtos?|mercadorias?|pedidos?|encomendas?) (?:ja )?(?:chegou|veio|chegaram|vieram)\b"
    r"|\bmas (?:veio|chegou)\b"
    r"|(?<!nao )(?<!na )(?<!nunca )\brecebi (?:um|o|a|os|as|meu|minha) (?:produto|mercadoria|encomenda|pedido)s?\b"
    r"|\bnao receb\w+ (?:(?:o|a|os|as|meu|minha|pedido|compra) ){0,2}(?:tod[oa]s?|tudo|complet\w+)\b"
    r"|\bquase nao receb\w+|\bentrega na data\b|\bchegou pel[oa]s? (?:correios?|transportadora)\b"
)
"""The goods came, or some of them."""


def known_of_review(review: str, rating: int | None) -> dict[str, Any]:
    """Return the fields of an extraction that a real review's words and stars decide."""
    known = dict(known_by_words(review, rating))
    complaint = known.get(COMPLAINT)
    if complaint and (_is_misread(review, complaint) or words_that_complain(review, complaint) is None):
        known = {name: value for name, value in known.items() if name not in _OF_COMPLAINT}
    return {**known, **of_stars(review, rating)}


def of_stars(review: str, rating: int | None) -> Mapping[str, Any]:
    """Return what stars say of the mood: nothing where they are many and the words plainly say that nothing came."""
    if rating is None or (rating >= SATISFIED and _nothing_arrived(review)):
        return {}
    return {"sentiment": sentiment_of(rating), "sentiment_score": rating}


def _nothing_arrived(review: str) -> bool:
    return LOST in read_complaints(review).plain and not _is_misread(review, LOST)


def _is_misread(review: str, complaint: str) -> bool:
    if complaint not in (LOST, CANCELLED):
        return False
    spoken = spoken_words(review[:MAX_READ])
    return bool(
        _ARRIVED.search(spoken)
        or (complaint == LOST and _FETCHED.search(spoken))
        or complaint not in read_complaints(_OTHER_THINGS.sub(" ", spoken)).plain
    )


def words_that_complain(review: str, complaint: str) -> str | None:
    """Return the shortest clause, or clauses, of a review that plainly make a complaint; None where none do.

    Where they are too long to be copied it is the first run of words that still makes it.
    """
    if not complaint:
        return ""
    words = review.split()
    clauses = [0, *(place for place in range(1, len(words)) if _begins(words[place - 1], words[place])), len(words)]
    runs = sorted(combinations(clauses, 2), key=lambda run: (run[1] - run[0], run[0]))
    runs += [(start, start + MOST_WORDS) for start in range(len(words) - MOST_WORDS)]
    said = (" ".join(words[start:end]).strip(_MARKS) for start, end in runs if end - start <= MOST_WORDS)
    return next((each for each in said if complaint in read_complaints(each).plain), None)


def _begins(before: str, word: str) -> bool:
    return before[-1] in _MARKS or fold(before) in _LINKS or fold(word) in _LINKS
