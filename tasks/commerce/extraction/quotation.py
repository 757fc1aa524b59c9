"""The one checker of a complaint: words of the review, one after another, as few as state what is complained of."""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import Final

from tasks.commerce.text.lexicons import read_data
from tasks.commerce.text.text_form import KEPT_PROMPTS, fold

DATA_FILES: Final = ("data/evidence/complaint.toml",)
COMPLAINT: Final = "main_complaint"
MOST_WORDS: Final = 12
LONGEST: Final = 300
MAX_READ: Final = 20_000

_REVIEW: Final = re.compile(r"^Avaliação:[ \t]*(\S.*)", re.MULTILINE | re.DOTALL)
_WORD: Final = re.compile(r"\w+")
_BLANKS: Final = re.compile(r"[ \t\r\n]+")
_DATA: Final = read_data("evidence/complaint.toml")
_NEGATION: Final = "|".join(_DATA["negacoes"])
# Between the words of one clause, so that a mark ends what a negation denies.
_GAP: Final = r"[^\w.!?;:,]+"
_OTHER: Final = rf"(?:(?!(?:{'|'.join(_DATA['ligacoes'])})\b)\w+{_GAP})"
# `não é` is folded, and joins nothing.
_BEHIND: Final = re.compile(
    rf"\b(?:(?:{_NEGATION}){_GAP}(?:e{_GAP})?{_OTHER}{{0,11}}"
    rf"|(?:{'|'.join(_DATA['antes']).replace(' ', _GAP)}){_GAP}(?:e{_GAP})?{_OTHER}{{0,3}}"
    rf"|(?:{_NEGATION}) (?:\w+ ){{0,2}}\w+(?:, \w+){{0,2}} (?:ou|nem) )$"
)
"""A review up to words that a negation denies, or to the last of a list that it denies."""
_BEFORE: Final = re.compile(rf"^[?:]?{_GAP}(?:{_NEGATION}|{'|'.join(_DATA['depois'])})\b")
_LAST: Final = re.compile(r"\b(?:nao|naum|n|nem|sem)$")
_GOES_ON: Final = re.compile(rf"^{_GAP}\w")
NUMBER: Final = r"\d(?:[ ().-]*\d){7}"
"""Of a person, a telephone or a card."""
_SENSITIVE: Final = re.compile(
    rf"\b(?:{'|'.join(_DATA['sensiveis'])})".replace(".", r"\b").replace(" ", r"\W+") + f"|{NUMBER}"
)
_PRAISE: Final = frozenset(_DATA["elogios"])
_PLAIN: Final = _PRAISE | {*_DATA["neutras"]}
_LONGEST_NEGATION: Final = 120


class QuotationFault(StrEnum):
    """Fault of a complaint that is no quotation, as the asker reads it."""

    LONG = f"tem mais de {MOST_WORDS} palavras"
    FOREIGN = "não está na avaliação"
    """Its characters, in either case and whatever the blanks between them, are no run of the review's words."""
    CUT = "deixa de fora uma negação da avaliação"
    """A negation was cut off, so that it says the contrary."""
    PRAISE = "elogia, e não reclama"
    SENSITIVE = "tem dado pessoal ou sensível (LGPD, arts. 5 e 11)"


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
    places = list(_places(complaint, _heard(review)))
    if not places:
        return QuotationFault.FOREIGN
    said = set(_WORD.findall(fold(complaint)))
    if said <= _PLAIN and not said.isdisjoint(_PRAISE):
        return QuotationFault.PRAISE
    if is_sensitive(complaint):
        return QuotationFault.SENSITIVE
    return QuotationFault.CUT if all(_is_cut(*place, _heard(review)) for place in places) else None


def is_sensitive(text: str) -> bool:
    """Return whether a text has a word of health, religion, politics, race and the like, or a long number."""
    return _SENSITIVE.search(fold(text)) is not None


def _is_cut(start: int, end: int, heard: str) -> bool:
    """Return whether the words between two characters lack a negation of theirs."""
    before, behind = fold(heard[max(0, start - _LONGEST_NEGATION) : start]), fold(heard[end : end + _LONGEST_NEGATION])
    if _BEHIND.search(before) or _BEFORE.search(behind):
        return True
    return bool(_LAST.search(fold(heard[start:end])) and _GOES_ON.search(behind))


@lru_cache(maxsize=KEPT_PROMPTS)
def shared(complaint: str, told: str, review: str) -> float:
    """Return how much of two quotations of a review is the same part of it: the F1 of their words' places, in [0, 1].

    1 where the words that tell the complaint are none of the review's, which hides nothing that anybody knows.
    """
    heard = _heard(review)
    known = next(_places(told, heard), None)
    if known is None:
        return 1.0
    found = [_words(*place, heard) for place in _places(complaint, heard) if not _is_cut(*place, heard)]
    return max((_f1(each, _words(*known, heard)) for each in found), default=0.0)


def _f1(one: range, other: range) -> float:
    common = min(one.stop, other.stop) - max(one.start, other.start)
    return 2 * max(common, 0) / (len(one) + len(other))


def _words(start: int, end: int, heard: str) -> range:
    first = len(_WORD.findall(heard, 0, start))
    return range(first, first + len(_WORD.findall(heard, start, end)))


def _places(quotation: str, heard: str) -> Iterator[tuple[int, int]]:
    """Yield where a quotation's first word begins in a review, and where its last one ends; it cuts no word."""
    said = _BLANKS.sub(" ", quotation[:LONGEST].lower()).strip(" ")
    words = list(_WORD.finditer(said)) if said.isprintable() else []
    start = heard.find(said) if words else -1
    while start >= 0:
        first, last = start + words[0].start(), start + words[-1].end()
        if not (_WORD.match(heard[first - 1 : first]) or _WORD.match(heard[last : last + 1])):
            yield first, last
        start = heard.find(said, start + 1)


@lru_cache(maxsize=KEPT_PROMPTS)
def _heard(review: str) -> str:
    """Return a review in small letters with single blanks, one also for what cannot be seen."""
    seen = review[:MAX_READ] if review.isprintable() else "".join(map(_seen, review[:MAX_READ]))
    return " ".join(seen.lower().split())


def _seen(character: str) -> str:
    return character if character.isprintable() else " "
