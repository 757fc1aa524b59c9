"""Openers of a shop's pushes: a model proposes, a person approves in a sheet, and the shop's own file grows."""

import csv
import io
import json
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Final

from schemas.disk import locked, replace_whole
from schemas.errors import InputError
from schemas.faults import first_few
from schemas.source import REPOSITORY
from schemas.tables.delimited import read_delimited
from tasks.commerce.push.phrases import FORM, LETTER, LONGEST_OPENER, OwnOpener, content_words, read_phrases
from tasks.commerce.regulated import law_against
from tasks.commerce.text.text_form import Phrases, fold, words

DATA_FILES: Final = ("data/phrases", "data/lexicons/offences.txt", "data/lexicons/discrimination.txt")
REQUEST: Final = REPOSITORY / "data" / "phrases" / "request.toml"
LINES_ASKED: Final = 20
MAX_REQUESTS: Final = 8
COLUMNS: Final = ("group", "opener", "approved", "by")
YES: Final = frozenset({"sim", "s", "yes", "y"})
NO: Final = frozenset({"", "não", "nao", "n", "no"})
KNOWN: Final = "known already"
_OFFENCES: Final = tuple(map(Phrases, ("offences", "discrimination")))
_MARK: Final = re.compile(r"^\s*(?:[-*•–]+|\d{1,2}\s*[.)])\s+")
"""The bullet or number before a line of a list."""

Ask = Callable[[str, str, int], str]
"""Returns a model's answer to a system text and a request; the number makes each answer another."""


def known_group(group: str) -> Any:
    """Return a group of the phrases; InputError where there is none of that name."""
    if group not in (known := read_phrases().grupos):
        raise InputError(f"there is no group {group!r}; use one of: {', '.join(known)}")
    return known[group]


def propose(group: str, count: int, ask: Ask) -> tuple[list[str], Counter[str]]:
    """Ask a model for openers of a group until there are enough; return them, and how many were dropped, by reason."""
    known, request = known_group(group), tomllib.loads(REQUEST.read_text(encoding="utf-8"))
    things = ", ".join(sorted(known.de)) or "qualquer produto"
    text = request["pedido"].format(
        quantas=LINES_ASKED, grupo=group, coisas=things, letras=LONGEST_OPENER, exemplos="\n".join(known.aberturas)
    )
    kept: list[str] = []
    dropped: Counter[str] = Counter()
    for number in range(MAX_REQUESTS):
        for opener in filter(None, map(_without_mark, ask(request["sistema"], text, number).splitlines())):
            if fault := fault_of(opener, kept):
                dropped[fault] += 1
            else:
                kept.append(opener)
        if len(kept) >= count:
            break
    return kept[:count], dropped


def _without_mark(line: str) -> str:
    """Return a line of a list without its mark and quotation marks, with a full stop where it ends in a letter."""
    text = _MARK.sub("", unicodedata.normalize("NFC", line)).strip(" \t\"'“”`")
    return f"{text}." if text[-1:].isalpha() else text


def fault_of(text: str, others: Collection[str] = ()) -> str | None:
    """Return what an opener may not have, beside the phrases and some others; None where nothing is wrong."""
    phrases, folded, said = read_phrases(), fold(text), words(text)
    closers = (*phrases.fechos.todas, *phrases.fechos.conhecidas)
    known = (*others, *(each for group in phrases.grupos.values() for each in group.aberturas))
    # The first that is true is reported.
    faults = {
        "fields or braces": "{" in text or "}" in text,
        "digits": any(map(str.isnumeric, text)),
        "letters of another alphabet": any(each.isalpha() and not re.match(LETTER, each) for each in text),
        "signs or no sentence": not re.fullmatch(FORM, text),
        f"more than {LONGEST_OPENER} characters": len(text) > LONGEST_OPENER,
        "an offence": any(each.are_in(folded, said) for each in _OFFENCES),
        "what gets no push": law_against(text) is not None,
        KNOWN: folded.rstrip(".!?") in {fold(each).rstrip(".!?") for each in known},
        "a word of a closer": not content_words(text).isdisjoint(content_words(" ".join(closers))),
    }
    return next((fault for fault, is_true in faults.items() if is_true), None)


def write_sheet(path: Path, group: str, openers: Sequence[str]) -> None:
    """Write a new sheet; InputError where it cannot be written."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([COLUMNS, *((group, opener, "", "") for opener in openers)])
    _append_bytes(path, text.getvalue().encode("utf-8-sig"))


def approved(sheet: Path) -> list[OwnOpener]:
    """Return what a person approved in a sheet and the phrases do not have yet.

    InputError where the sheet cannot be read or lacks a column, a row is faulty, or nothing new is approved.
    """
    table = read_delimited(sheet)
    if lacking := [name for name in COLUMNS if name not in table.columns]:
        raise InputError(f"{sheet} lacks the column {lacking[0]!r}; it must have {', '.join(COLUMNS)}")
    found: list[OwnOpener] = []
    faults = []
    for number, cells in enumerate(table.select(COLUMNS).rows(), 2):
        group, opener, answer, by = ((cell or "").strip() for cell in cells)
        if answer.lower() in NO:
            continue
        fault = fault_of(opener, [each.texto for each in found])
        if answer.lower() not in YES:
            faults.append(f"row {number}: `approved` is no sim, yes, não or no")
        elif not by or not by.isprintable():
            faults.append(f"row {number}: `by` does not say who approved it")
        elif fault is None:
            known_group(group)
            found.append(OwnOpener(grupo=group, texto=opener, por=by))
        elif fault != KNOWN:
            faults.append(f"row {number}: the opener has {fault}")
    if faults:
        raise InputError(f"{sheet}: {first_few(faults)}; correct it")
    if not found:
        raise InputError(f"{sheet} approves nothing new; write `sim` into `approved` and a name into `by`")
    return found


def append(openers: Sequence[OwnOpener], file: Path) -> None:
    """Add openers at the end of the shop's own file, made if it is not there; InputError where it cannot be written."""
    text = ""
    for each in openers:
        # A string of JSON is one of TOML.
        keys = (f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in each)
        text += f"\n[[aberturas]]\n{''.join(keys)}"
    _append_bytes(file, text.encode())


def _append_bytes(file: Path, end: bytes) -> None:
    try:
        with locked(file):
            before = file.read_bytes() if file.exists() else b""
            replace_whole(file, before + end)
    except OSError as error:
        raise InputError(f"{file} cannot be written ({error.strerror}); give the path of another file") from None
