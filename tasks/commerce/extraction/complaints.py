"""Complaints: the one free-text field of an extraction, beside the reference's or beside the review."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from tasks.commerce.extraction.complaint_signs import MAX_READ, read_complaints
from tasks.commerce.extraction.complaint_wording import (
    KEPT,
    LATE,
    LOST,
    SHORT,
    TOO_LONG,
    is_denied,
    quotes,
    said_parts,
)
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import KEPT_PROMPTS, fold, overlap, ramp

DATA_FILES: Final = ("data/lexicons/complaints.txt",)
OTHER_WORDS: Final = 0.9
"""Grade of the same complaint in other words."""
ANOTHER: Final = 0.6
"""Grade of another complaint that the review plainly makes."""
FAMILY: Final = frozenset((LOST, LATE))

COMPLAINTS: Final = tuple(line.split(": ")[0] for line in read_lexicon("complaints"))
"""The known complaints, the worst first."""

_NO_PART: Final = re.compile(
    r"\bfalt\w*(?: de| total de)?(?: \w+ e(?: de)?)? (?=respeito|atenc|cuidado|capricho|compromisso|consider|respons"
    r"|verg|organiz|transpar|comunic|honest|etica|educac|interesse|inform|retorno|contato|respost|satisfac|aviso|explic|estoque)"
)
"""What is missing there is no part of an order."""


_PACKAGE: Final = re.compile(
    r"\b(?:embalage[mn]s?|caixas?|pacotes?|sacos?|sacolas?|embrulho|envelope)"
    r"(?: (?:veio|chegou|estava|esta|foi|toda|todo|muito|bem|do|da|de|produto|em|um|uma)){0,4} "
    r"(?:danific|rasg|amass|avari|furad|violad|abert|fragil|frac|precari|molhad|suj|ruim|pessim|quebr)\w*"
)
"""A package that is torn is no product that is."""


@lru_cache(maxsize=KEPT)
def same_complaint(found: str, wanted: str, review: str = "") -> float:
    """Grade a complaint against the reference's, in [0, 1].

    1 for the reference's words and 0.9 for others with the same meaning (`data/lexicons/complaints.txt`); a reference
    complaint that is not in the list is compared word by word. Naming complaints that the review has no sign of, and
    not in its own words, divides the grade; denying the right one, or naming only others, earns nothing, but for
    another that the review plainly makes, in its own words: people do not agree on which is the main one. What has not
    come is late as well. Two empty complaints agree.

    Args:
        found: The answer's complaint.
        wanted: The reference's.
        review: The review; empty where nobody knows it.
    """
    if not wanted.strip() or not found.strip():
        return float(not wanted.strip() and not found.strip())
    named = rightly_named(found, wanted, review)
    kept = ramp(len(found), TOO_LONG, SHORT)
    grade = max(overlap(found, wanted), OTHER_WORDS if wanted in named else 0.0)
    if wanted in _complaints():
        if not named or is_denied(found, review):
            return 0.0
        if wanted not in named:
            plain = not named.isdisjoint(read_complaints(review).plain)
            return kept * ANOTHER if plain and quotes(found, review) else 0.0
    beside = named - {wanted} - ({LATE} if wanted == LOST else set())
    if beside and (beside := beside - heard_in(review)):
        beside -= said_complaints(" , ".join(said_parts(found, review)))
    return grade / (1 + len(beside)) * kept


@lru_cache(maxsize=KEPT)
def rightly_named(found: str, wanted: str, review: str = "") -> frozenset[str]:
    """Return the complaints that an answer names; lateness and what has not come are one where the review has both."""
    found = found[: TOO_LONG + 1]
    named = said_complaints(fold(found))
    if wanted not in named:
        named |= frozenset(read_complaints(found).plain)
    if wanted in FAMILY and wanted not in named and named & FAMILY & heard_in(review):
        return named | {wanted}
    return named


@lru_cache(maxsize=KEPT_PROMPTS)
def heard_in(review: str) -> frozenset[str]:
    """Return the complaints of which a review has a sign, plain or not."""
    return named_complaints(fold(review[:MAX_READ])) | frozenset(read_complaints(review).plain)


@lru_cache(maxsize=KEPT)
def said_complaints(folded: str) -> frozenset[str]:
    """Return the known complaints that a folded complaint says: of phrases within one another the longest counts.

    A torn packing is no torn product, and the price of the freight no high price.
    """
    told = _told(folded)
    found = [(match.span(), name) for name, phrases in _complaints().items() for match in phrases.finditer(told)]
    return frozenset(
        name
        for (start, end), name in found
        if not any(first <= start and end <= last and last - first > end - start for (first, last), _ in found)
    )


def named_complaints(folded: str) -> frozenset[str]:
    """Return the known complaints of which a folded text has a sign."""
    told = _told(folded)
    return frozenset(complaint for complaint, phrases in _complaints().items() if phrases.search(told))


def _told(folded: str) -> str:
    """Return a folded text in which packages are packing, and what has no part of something is without it."""
    return _PACKAGE.sub("embalagem", _NO_PART.sub("sem ", folded))


@cache
def _complaints() -> Mapping[str, re.Pattern[str]]:
    lines = (line.split(": ") for line in read_lexicon("complaints"))
    return {complaint: re.compile(rf"\b(?:{_alternatives(phrases)})\b") for complaint, phrases in lines}


def _alternatives(phrases: str) -> str:
    # The longest first: the pattern takes the first that fits.
    ordered = sorted(phrases.split(", "), key=len, reverse=True)
    return "|".join(re.escape(phrase).replace(r"\*", r"\w*") for phrase in ordered)
