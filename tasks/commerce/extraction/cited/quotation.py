"""The one checker of a complaint: words of the review, one after another, as few as state what is complained of."""

import re
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import Final

from tasks.commerce.text.text_form import KEPT_PROMPTS, fold

MOST_WORDS: Final = 12
"""Words of a complaint."""
LONGEST: Final = 300
"""Characters of a complaint that are read; twelve words have some 70."""
MAX_READ: Final = 20_000
"""Characters of a review that are read."""

_REVIEW: Final = re.compile(r"^Avaliação:[ \t]*(\S.*)", re.MULTILINE | re.DOTALL)
_WORD: Final = re.compile(r"\w+")


class QuotationFault(Enum):
    """Fault of a complaint that is no quotation."""

    LONG = "it has more words than a complaint has"
    """More than `MOST_WORDS`."""
    FOREIGN = "it is not in the review"
    """No run of words of the review is the same, whatever the case, the accents and the marks."""


@lru_cache(maxsize=KEPT_PROMPTS)
def review_of(prompt: str) -> str:
    """Return the review that a prompt quotes; empty without one."""
    found = _REVIEW.search(prompt)
    return found[1] if found else ""


@lru_cache(maxsize=KEPT_PROMPTS)
def fault_of(complaint: str, review: str) -> QuotationFault | None:
    """Return why a complaint is no quotation of a review; None where it is one, or empty."""
    if not complaint:
        return None
    if len(complaint) > LONGEST or len(complaint.split()) > MOST_WORDS:
        return QuotationFault.LONG
    said = _spoken(complaint)
    return None if said.strip() and said in _heard(review) else QuotationFault.FOREIGN


@lru_cache(maxsize=KEPT_PROMPTS)
def shared(complaint: str, told: str, review: str) -> float:
    """Return how much of two quotations of a review is the same part of it: the F1 of their words' places, in [0, 1].

    1 where the words that tell the complaint are none of the review's, which hides nothing that anybody knows.
    """
    known = next(_places(told, review), None)
    if known is None:
        return 1.0
    return max((_f1(found, known) for found in _places(complaint, review)), default=0.0)


def _f1(one: range, other: range) -> float:
    common = min(one.stop, other.stop) - max(one.start, other.start)
    return 2 * max(common, 0) / (len(one) + len(other))


def _places(quotation: str, review: str) -> Iterator[range]:
    """Yield where a quotation stands in a review, in words."""
    said, heard = _spoken(quotation[:LONGEST]), _heard(review)
    count, place = said.count(" ") - 1, heard.find(said) if said.strip() else -1
    while place >= 0:
        first = heard.count(" ", 0, place)
        yield range(first, first + count)
        place = heard.find(said, place + 1)


@lru_cache(maxsize=KEPT_PROMPTS)
def _heard(review: str) -> str:
    return _spoken(review[:MAX_READ])


def _spoken(text: str) -> str:
    """Return a text's folded words between single spaces."""
    return f" {' '.join(_WORD.findall(fold(text)))} "
