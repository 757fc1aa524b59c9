"""Similarity of two complaints: the one free-text field of an extraction."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold, overlap, ramp

DATA_FILES: Final = ("data/lexicons/complaints.txt",)
OTHER_WORDS: Final = 0.9
"""Grade of the same complaint in other words."""
SHORT, TOO_LONG = 60, 160
"""Maximum characters of a short complaint, as requested, and the length from which it counts as a text."""
KEPT: Final = 4_096

_DENIED: Final = re.compile(
    r"\b(?:isso nao (?:aconteceu|ocorreu|procede|houve)|nao e verdade|e mentira|e falso|sem (?:queixas?|reclamac\w+))\b"
)


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
    named = {complaint for complaint, phrases in _complaints().items() if phrases.search(text)}
    known = wanted in _complaints()
    if known and ((named and wanted not in named) or _denies(text, fold(wanted))):
        return 0.0
    grade = max(overlap(found, wanted), OTHER_WORDS if wanted in named else 0.0)
    return grade / max(len(named), 1) * ramp(len(found), TOO_LONG, SHORT)


def _denies(text: str, complaint: str) -> bool:
    return bool(_DENIED.search(text) or re.search(rf"\b(?:sem|nao houve|nao ha) {re.escape(complaint)}\b", text))


@cache
def _complaints() -> Mapping[str, re.Pattern[str]]:
    lines = (line.split(": ") for line in read_lexicon("complaints"))
    return {complaint: re.compile(rf"\b(?:{_alternatives(phrases)})\b") for complaint, phrases in lines}


def _alternatives(phrases: str) -> str:
    return "|".join(re.escape(phrase).replace(r"\*", r"\w*") for phrase in phrases.split(", "))
