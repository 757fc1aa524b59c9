"""The one checker of a complaint: words of the review, one after another, as few as state what is complained of."""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile
from typing import Final

from tasks.commerce.regulated import is_sensitive
from tasks.commerce.text.lexicons import read_data
from tasks.commerce.text.text_form import KEPT_PROMPTS, fold

DATA_FILES: Final = ("data/evidence/complaint.toml",)
COMPLAINT: Final = "main_complaint"
MOST_WORDS, LONGEST, MAX_READ = 12, 300, 20_000  # Words and characters of a complaint, and characters of a review.

_REVIEW: Final = re.compile(r"^Avaliação:[ \t]*(\S.*)", re.MULTILINE | re.DOTALL)
_WORD, _TOKEN, _BLANKS = re.compile(r"\w+"), re.compile(r"\w+|[.!?;:,]"), re.compile(r"[ \t\r\n]+")
_DATA: Final = read_data("evidence/complaint.toml")
_NEGATIONS, _JOINING = frozenset(_DATA["negacoes"]), frozenset(_DATA["ligacoes"])
_DENYING: Final = _NEGATIONS | {*_DATA["depois"]}
_OF_NOUNS: Final = frozenset(("sem", "nem", "nenhum", "nenhuma", "zero"))  # Of things, of which `e` adds another.
_GOVERNING: Final = re.compile(rf"\b(?:{'|'.join(_DATA['antes'])})$")
_AT_END: Final = re.compile(rf"\b(?:{'|'.join((*_DATA['negacoes'], *_DATA['antes']))})$")
_HANGING: Final = frozenset(("nao", "naum", "n", "nem", "sem"))
FEW: Final = 3  # Words that may be one of a list under a negation before it, or an idiom with those behind.
REACH, REACH_BACK, REACH_OF_GOVERNING = 12, 4, 4  # Words that a negation denies behind or before, or others govern.
_READ: Final = str.maketrans(*_DATA["parecidas"])  # What a reader takes for another letter, or does not see.
_PERSONAL, _UNSAFE = (re.compile("|".join(_DATA[name])) for name in ("pessoais", "perigosas"))
_PRAISE: Final = frozenset(_DATA["elogios"])
_PLAIN: Final = _PRAISE | {*_DATA["neutras"]}
_LONGEST_NEGATION: Final = 120


class QuotationFault(StrEnum):
    """Fault of a complaint that is no quotation, as the asker reads it."""

    LONG = f"tem mais de {MOST_WORDS} palavras"
    FOREIGN = "não está na avaliação"
    """Its characters, in either case and whatever the blanks between them, are no run of the review's words."""
    CUT = "deixa de fora uma negação da avaliação"
    SHORT = "são poucas palavras de uma frase que continua"
    PRAISE = "elogia, e não reclama"
    SENSITIVE = "tem dado pessoal ou sensível (LGPD, arts. 5 e 11)"
    UNSAFE = "tem link, marcação, ameaça ou instrução"


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
    heard = _heard(review)
    if not (places := list(_places(complaint, heard))):
        return QuotationFault.FOREIGN
    if fault := _own_fault(complaint):
        return fault
    words, ends = _WORD.findall(fold(complaint)), [end for start, end in places if not _is_cut(start, end, heard)]
    if ends and len(words) <= FEW and _NEGATIONS.isdisjoint(words) and all(_is_begun(end, heard) for end in ends):
        return QuotationFault.SHORT
    return None if ends else QuotationFault.CUT


def _own_fault(complaint: str) -> QuotationFault | None:
    """Return what is wrong with words wherever they stand."""
    plain = fold(complaint)
    words = _WORD.findall(plain)
    if _PLAIN.issuperset(words) and not _PRAISE.isdisjoint(words):
        return QuotationFault.PRAISE
    if is_sensitive(complaint) or _PERSONAL.search(plain):
        return QuotationFault.SENSITIVE
    return QuotationFault.UNSAFE if _UNSAFE.search(plain) else None


def _is_begun(end: int, heard: str) -> bool:
    """Return whether a clause goes on behind a character: `quebrou` is no complaint of `quebrou minha expectativa`."""
    behind = re.match(r" (\w+)", heard[end : end + _LONGEST_NEGATION])
    return behind is not None and (behind[1] == "é" or fold(behind[1]) not in _JOINING)


def _is_cut(start: int, end: int, heard: str) -> bool:
    """Return whether the words between two characters lack a negation of theirs, or a word that governs their clause.

    A clause of few words may belong to the one before it: `não veio quebrado, riscado`. Nobody knows, so it does.
    """
    texts = (heard[max(0, start - _LONGEST_NEGATION) : start], heard[start:end], heard[end : end + _LONGEST_NEGATION])
    before, own, behind = (_TOKEN.findall(fold(text)) for text in texts)
    tail = list(takewhile(_goes_on, behind))
    mark, *others = *behind[len(tail) :], "."
    answer = list(takewhile(str.isalnum, others))
    is_few = mark in "?:," and len(answer) < FEW
    if (mark in "?:" and {*answer[:1]} & _DENYING) or (is_few and {*answer[-1:]} & _NEGATIONS):
        return True
    # Two negations of one verb are one: `não recebi nada`.
    back = {*takewhile(lambda word: word not in ("sem", "nem"), tail[:REACH_BACK])}
    if (back & _DENYING and not {*own} & _NEGATIONS) or (tail and own[-1] in _HANGING):
        return True
    return (own[0] not in _JOINING or own[0] == "e") and _is_denied(before, own, len(tail))


def _is_denied(before: Sequence[str], own: Sequence[str], behind: int) -> bool:
    """Return whether words of a clause, of which so many stand behind, are denied or governed by those before."""
    before = [*before, "e"] if own[0] == "e" else before
    size, said, breaks = len(own) + behind, 0, ""
    for place in reversed(range(len(before))):
        word, text = before[place], " ".join(before[: place + 1])
        # `não é` is folded, and joins nothing.
        if word == "e" and _AT_END.search(text[:-2]):
            continue
        if _goes_on(word):
            size, said = size + 1, said + 1
        elif word not in (",", "e") or size > FEW or {*own} & _NEGATIONS:
            return False
        else:
            size, breaks = 0, breaks + word
        if word in _NEGATIONS and said <= REACH:
            return "e" not in breaks or word in _OF_NOUNS
        if said <= REACH_OF_GOVERNING and not breaks and _GOVERNING.search(text):
            return True
    return False


def _goes_on(word: str) -> bool:
    return word.isalnum() and word not in _JOINING


@lru_cache(maxsize=KEPT_PROMPTS)
def shared(complaint: str, told: str, review: str) -> float:
    """Return the F1 of the places of two quotations' words in a review, in [0, 1]; 1 where the second is none of it."""
    heard = _heard(review)
    if (known := next(_places(told, heard), None)) is None:
        return 1.0
    right = _words(*known, heard)
    found = [_words(*place, heard) for place in _places(complaint, heard) if not _is_cut(*place, heard)]
    common = ((each, min(each.stop, right.stop) - max(each.start, right.start)) for each in found)
    return max((2 * max(words, 0) / (len(each) + len(right)) for each, words in common), default=0.0)


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
    """Return a review as it is read, in small letters with single blanks, one also for a line's end and the like."""
    seen = review[:MAX_READ].lower().translate(_READ)
    if not seen.isprintable():
        seen = "".join(each if each.isprintable() else " " for each in seen)
    return " ".join(seen.split())
