"""Complaints: the one free-text field of an extraction, beside the reference's or beside the review."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.manner import manner
from tasks.commerce.text.text_form import fold, folded_words, overlap, ramp, words
from tasks.commerce.text.vocabulary import Vocabulary

DATA_FILES: Final = (
    "data/lexicons/complaint_signs.txt",
    "data/lexicons/complaint_words.txt",
    "data/lexicons/complaints.txt",
)
OTHER_WORDS: Final = 0.9
"""Grade of the same complaint in other words."""
SHORT, TOO_LONG = 60, 160
"""Maximum characters of a short complaint, as requested, and the length from which it counts as a text."""
KEPT: Final = 4_096
FOREIGN_WORDS: Final = 2
"""Words that neither the review nor the vocabulary has from which on a complaint is worth nothing."""

_VOCABULARY: Final = Vocabulary("complaints", "complaint_signs", "complaint_words")

_DENIED: Final = re.compile(
    r"\b(?:isso nao (?:aconteceu|ocorreu|procede|houve)|nao e verdade|e mentira|e falso|sem (?:queixas?|reclamac\w+))\b"
)


COMPLAINTS: Final = tuple(line.split(": ")[0] for line in read_lexicon("complaints"))
"""The known complaints, the worst first."""


@lru_cache(maxsize=KEPT)
def same_complaint(found: str, wanted: str) -> float:
    """Grade a complaint against the reference's, in [0, 1].

    1 for the reference's words and 0.9 for others with the same meaning (`data/lexicons/complaints.txt`); a reference
    complaint that is not in the list is compared word by word. Naming several complaints divides the grade by their
    number, and naming only others, or denying the right one, earns nothing. Two empty complaints agree.
    """
    if not wanted.strip() or not found.strip():
        return float(not wanted.strip() and not found.strip())
    text = fold(found[: TOO_LONG + 1])
    named = said_complaints(text)
    known = wanted in _complaints()
    if known and ((named and wanted not in named) or _denies(text, fold(wanted))):
        return 0.0
    grade = max(overlap(found, wanted), OTHER_WORDS if wanted in named else 0.0)
    return grade / max(len(named), 1) * ramp(len(found), TOO_LONG, SHORT)


@lru_cache(maxsize=KEPT)
def said_complaints(folded: str) -> frozenset[str]:
    """Return the known complaints that a folded complaint says: of phrases within one another the longest counts.

    A torn packing is no torn product, and the price of the freight no high price.
    """
    found = [(match.span(), name) for name, phrases in _complaints().items() for match in phrases.finditer(folded)]
    return frozenset(
        name
        for (start, end), name in found
        if not any(first <= start and end <= last and last - first > end - start for (first, last), _ in found)
    )


def named_complaints(folded: str) -> frozenset[str]:
    """Return the known complaints of which a folded text has a sign."""
    return frozenset(complaint for complaint, phrases in _complaints().items() if phrases.search(folded))


@lru_cache(maxsize=KEPT)
def complaint_manner(found: str, review: str) -> float:
    """Grade what a complaint says beside the complaint, in [0, 1].

    Its words are the review's or those of a small vocabulary, each other one costs; and it is said as a shop would.
    """
    text = found[: TOO_LONG + 1]
    folded = fold(text)
    said = folded_words(folded)
    foreign = len(_VOCABULARY.unknown(said, _words_of(review)))
    return ramp(foreign, FOREIGN_WORDS, 0) * manner(text, folded, said)


@lru_cache(maxsize=KEPT)
def _words_of(review: str) -> frozenset[str]:
    return frozenset(words(review))


def _denies(text: str, complaint: str) -> bool:
    return bool(_DENIED.search(text) or re.search(rf"\b(?:sem|nao houve|nao ha) {re.escape(complaint)}\b", text))


@cache
def _complaints() -> Mapping[str, re.Pattern[str]]:
    lines = (line.split(": ") for line in read_lexicon("complaints"))
    return {complaint: re.compile(rf"\b(?:{_alternatives(phrases)})\b") for complaint, phrases in lines}


def _alternatives(phrases: str) -> str:
    # The longest first: the pattern takes the first that fits.
    ordered = sorted(phrases.split(", "), key=len, reverse=True)
    return "|".join(re.escape(phrase).replace(r"\*", r"\w*") for phrase in ordered)
