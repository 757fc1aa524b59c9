"""CPF, CNPJ, cards, telephones and CEP in a normalized text.

A number is matched in the formats that people use, its check digits or its place in the numbering plan are verified,
and the preceding words decide ambiguous formats. The rules, from the strongest:

- an order word that leads to the number (`pedido nº 11987654321`, `protocolo`, `código`, `nota fiscal`, `rastreio`)
  makes it that; only unique punctuation (a CPF's, a CNPJ's, a card's groups, an area in brackets, +55) outweighs it, or
  the word CPF or CNPJ with no other number between (`o cpf que está no pedido é ...`);
- a bare number of 11 digits that is both a mobile and a CPF follows the nearest word (`cpf`, `whats`, `ligar`); without
  one it is a CPF, since of all CPF one in 15 is a mobile too, of all mobiles one in 100 a CPF;
- spaces alone also separate the cells of a table: a number in them must be isolated from further digits;
- groups that are never printed but typed (`11 98765 43 21`) are a telephone or a card if a word leads to them;
- 8 digits are a CEP only beside `cep` or in an address (behind a street or a quarter, before a city or a state), a
  telephone only beside a word for one; a landline without brackets, hyphen or such a word stays unless it has an
  area and stands by itself in its clause, and so does a bare number adjacent to letters (`LB123456789BR`, `i5-10300H`);
- 0800, 0300 and 4004 are companies' numbers and stay.

Every pattern is bounded and starts at a digit's left edge, so that a text is read in time linear in its length.
"""

import re
from typing import Final

from tasks.personal_data.detectors import (
    birth_dates,
    cards,
    identity_documents,
    phones,
    pix_keys,
    plates,
    postcodes,
    security_codes,
    taxpayers,
)
from tasks.personal_data.detectors.context import KINDS, Around, Found, Kind, Search, holds_any
from tasks.personal_data.detectors.phones import is_beside, is_phone
from tasks.personal_data.detectors.taxpayers import is_cpf

_DIGIT: Final = re.compile(r"[0-9]")
_LONG_CODE: Final = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?<![0-9a-z])(?=[0-9]{0,31}[a-f])[0-9a-f]{32}"
)
_RUN: Final = re.compile(r"(?<!\d)\d{10,11}(?:[ \t/,;|-]{1,3}\d{10,11}){1,5}(?!\d)")
_LETTERED: Final = re.compile(r"(?<![^\W_])(?=(?:[oilzb]{0,2}[ ().+-]{0,3}\d){6})[\doilzb().+ -]{8,20}(?![^\W_])")
_LETTER_FOR_DIGIT: Final = re.compile(r"(?<=\d)[oilzb]|[oilzb](?=\d)")
_DIGIT_OF: Final = dict(zip("oilzb", "01128", strict=True))
"""`9876O-4321`, `3322-445l`, `O11 98765-43Z1`."""
_CODE_MARK: Final = 1
_MARKS: Final = {kind: mark for mark, kind in enumerate(KINDS, _CODE_MARK + 1)}
_NUMBER: Final = re.compile(r"\d+")
_LABELLED_SEARCHES: Final[tuple[Search, ...]] = (
    *identity_documents.SEARCHES,
    *birth_dates.SEARCHES,
    *security_codes.SEARCHES,
    *plates.SEARCHES,
)
_SEARCHES: Final[tuple[Search, ...]] = (
    *cards.SEARCHES,
    *taxpayers.SEARCHES,
    *identity_documents.LATER_SEARCHES,
    *phones.SEARCHES,
    *postcodes.SEARCHES,
    *phones.LOCAL_SEARCHES,
)
"""In the order of their claims: what one has found is no longer searched by the next."""
_IN_WORDS: Final = (*birth_dates.SEARCHES, *security_codes.SEARCHES, *plates.SEARCHES_IN_WORDS)
"""What a text without a digit may hold."""


def find_numbers(text: str) -> list[Found]:
    """Find personal numbers.

    Args:
        text: In small letters, with ASCII digits, spaces and hyphens; see `tasks.personal_data.scrub`.

    Returns:
        Spans and kinds, in no order, none within another.
    """
    if not _DIGIT.search(text):
        return _claim(_IN_WORDS, text, bytearray(len(text)))
    marks = bytearray(len(text))
    found: list[Found] = []
    if _LETTERED.search(text):
        # First those whose letters are right: `KVDY99L9/0001-29`.
        found = _claim(taxpayers.LETTERED_SEARCHES, text, marks)
        text = _LETTERED.sub(lambda run: _LETTER_FOR_DIGIT.sub(lambda letter: _DIGIT_OF[letter[0]], run[0]), text)
    found += _claim(pix_keys.SEARCHES, text, marks)
    for code in _LONG_CODE.finditer(text):
        marks[code.start() : code.end()] = bytes([_CODE_MARK]) * len(code[0])
    found += _claim(_LABELLED_SEARCHES, text, marks)
    found += _claim_runs(text, marks)
    return found + _claim(_SEARCHES, text, marks)


def _claim_runs(text: str, marks: bytearray) -> list[Found]:
    """Find bare numbers beside each other, each of which is a CPF or a telephone: `52998224725 11987654321`."""
    found: list[Found] = []
    for run in _RUN.finditer(text):
        if any(marks[run.start() : run.end()]) or Around(run).is_order:
            continue
        numbers = [(run.start() + part.start(), run.start() + part.end()) for part in _NUMBER.finditer(run[0])]
        kinds: list[Kind | None] = [_kind_of(text[start:end]) for start, end in numbers]
        claimed = [(start, end, kind) for (start, end), kind in zip(numbers, kinds, strict=True) if kind is not None]
        if len(claimed) == len(kinds):
            found += claimed
            for start, end, kind in claimed:
                marks[start:end] = bytes([_MARKS[kind]]) * (end - start)
    return found


def _kind_of(number: str) -> Kind | None:
    if is_cpf(number):
        return "CPF"
    return "TELEFONE" if is_phone(number) else None


def _claim(searches: tuple[Search, ...], text: str, marks: bytearray) -> list[Found]:
    """Run searches in their order; each claims its numbers in `marks`, one byte a character."""
    found: list[Found] = []
    for kind, shape, test, cues in searches:
        if cues and not holds_any(text, cues):
            continue
        value = "value" if "value" in shape.groupindex else 0
        for match in shape.finditer(text):
            start, end = match.span(value)
            if any(marks[start:end]):
                continue
            span = test(match)
            if span is None and kind == "TELEFONE" and is_beside(match, marks, _MARKS[kind]):
                span = start, end
            if span is not None:
                start, end = span
                marks[start:end] = bytes([_MARKS[kind]]) * (end - start)
                found.append((start, end, kind))
    return found
