"""Openers that a model proposes for a group of products, and what no opener of a shop may have."""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from schemas.errors import InputError
from tasks.commerce.push.own_phrases import FORM, LETTER, LONGEST
from tasks.commerce.push.phrases import OpenersOfGroup, content_words, read_phrases
from tasks.commerce.push.regulated import law_against
from tasks.commerce.text.text_form import Phrases, fold, words

DATA_FILES: Final = ("data/phrases", "data/lexicons/offences.txt", "data/lexicons/discrimination.txt")
REQUEST: Final = Path(__file__).resolve().parents[2] / "data" / "phrases" / "request.toml"
LINES_A_REQUEST: Final = 20
MOST_REQUESTS: Final = 8
KNOWN: Final = "known already"
_OFFENCES: Final = tuple(map(Phrases, ("offences", "discrimination")))
_MARK: Final = re.compile(r"^\s*(?:[-*•–]+|\d{1,2}\s*[.)])\s+")
"""What a list has before its lines."""

Ask = Callable[[str, str, int], str]
"""Returns a model's answer to a system text and a request; the number makes each answer another."""


def known_group(group: str) -> OpenersOfGroup:
    """Return a group of the phrases.

    Raises:
        InputError: There is none of that name.
    """
    if group not in (known := read_phrases().grupos):
        raise InputError(f"there is no group {group!r}; use one of: {', '.join(known)}")
    return known[group]


def propose(group: str, count: int, ask: Ask) -> tuple[list[str], Counter[str]]:
    """Ask a model for openers of a group until there are enough; return them, and how many were dropped, by reason."""
    known, request = known_group(group), tomllib.loads(REQUEST.read_text(encoding="utf-8"))
    things = ", ".join(sorted(known.de)) or "qualquer produto"
    text = request["pedido"].format(
        quantas=LINES_A_REQUEST, grupo=group, coisas=things, letras=LONGEST, exemplos="\n".join(known.aberturas)
    )
    kept: list[str] = []
    dropped: Counter[str] = Counter()
    for number in range(MOST_REQUESTS):
        for opener in filter(None, map(_tidy, ask(request["sistema"], text, number).splitlines())):
            if fault := fault_of(opener, kept):
                dropped[fault] += 1
            else:
                kept.append(opener)
        if len(kept) >= count:
            break
    return kept[:count], dropped


def _tidy(line: str) -> str:
    """Return a line of a list without its mark and quotation marks, with a full stop where it ends in a letter."""
    text = _MARK.sub("", unicodedata.normalize("NFC", line)).strip(" \t\"'“”`")
    return f"{text}." if text[-1:].isalpha() else text


def fault_of(text: str, others: Collection[str] = ()) -> str | None:
    """Return what an opener may not have, beside the phrases and some others; None where nothing is wrong."""
    phrases, folded, said = read_phrases(), fold(text), words(text)
    closers = (*phrases.fechos.todas, *phrases.fechos.conhecidas)
    known = (*others, *(each for group in phrases.grupos.values() for each in group.aberturas))
    # The first that is true is told.
    faults = {
        "fields or braces": "{" in text or "}" in text,
        "digits": any(map(str.isnumeric, text)),
        "letters of another alphabet": any(each.isalpha() and not re.match(LETTER, each) for each in text),
        "signs or no sentence": not re.fullmatch(FORM, text),
        f"more than {LONGEST} characters": len(text) > LONGEST,
        "an offence": any(each.are_in(folded, said) for each in _OFFENCES),
        "what gets no push": law_against(text) is not None,
        KNOWN: folded.rstrip(".!?") in {fold(each).rstrip(".!?") for each in known},
        "a word of a closer": not content_words(text).isdisjoint(content_words(" ".join(closers))),
    }
    return next((fault for fault, is_true in faults.items() if is_true), None)
