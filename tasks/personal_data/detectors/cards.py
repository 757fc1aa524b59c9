"""Card numbers of the brands in use in Brazil, whose check digit is verified."""

import re
from typing import Final

from stdnum import luhn
from stdnum.br import cnpj

from tasks.personal_data.detectors.context import EDGE, Around, Search, Span, digits_of

_TIGHT: Final = r"[ .·•_\n,*|/-]{0,3}"
_CARD: Final = re.compile(
    rf"{EDGE}(?:\d{{4}}[ \t.·•_/-]{{0,3}}){{3}}\d{{4}}(?!\d)"
    rf"|{EDGE}\d{{4}}[ \t.·•_/-]{{0,3}}\d{{6}}[ \t.·•_/-]{{0,3}}\d{{4,5}}(?!\d)|{EDGE}\d{{6}}[ -]\d{{10}}(?!\d)"
)
_CARD_APART: Final = re.compile(rf"{EDGE}\d(?:{_TIGHT}\d){{13,15}}(?!\d)")
_CARD_AFTER: Final = re.compile(r"[ ,;(-]{0,3}(?:(?:é|eh|o|meu|no|do) ){0,3}cart[aã]o(?![^\W\d_])")
_GROUPS_BEFORE: Final = re.compile(r"(?:\d{4}[ .-]){1,10}\Z")
_GROUPS_AFTER: Final = re.compile(r"(?:[ .-]\d{4}){1,10}")
_GROUPS_OF_TWO_CARDS: Final = 8
_LONGEST: Final = 16
_ISSUERS: Final = {
    16: re.compile(
        r"4|5[0-8]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|35(?:2[89]|[3-8])|3841|6(?:0(?:11|4[23]|6282)|2|36|4[4-9]|5)"
    ),
    15: re.compile(r"3[47]"),
    14: re.compile(r"3(?:0[0-5]|[689])"),
}


def _find_card(match: re.Match[str]) -> Span | None:
    number, text = digits_of(match[0]), match.string
    if not _is_card(number):
        return None
    # The access key of an invoice is printed in eleven groups of four.
    before = _GROUPS_BEFORE.search(text[max(match.start() - 50, 0) : match.start()])
    after = _GROUPS_AFTER.match(text, match.end())
    if sum(len(run[0]) // 5 for run in (before, after) if run) + 4 > _GROUPS_OF_TWO_CARDS:
        return None
    around = Around(match)
    is_other = around.is_order or around.is_glued or (around.label == "CNPJ" and cnpj.is_valid(number))
    return None if match[0].isdigit() and is_other else match.span()


def _is_card(number: str) -> bool:
    issuer = _ISSUERS.get(len(number))
    return issuer is not None and issuer.match(number) is not None and len(set(number)) > 1 and luhn.is_valid(number)


def _find_card_apart(match: re.Match[str]) -> Span | None:
    """Take what a word for a card leads to, even if one digit of its sixteen was mistyped."""
    number = digits_of(match[0])
    issuer = _ISSUERS.get(len(number))
    if issuer is None or not issuer.match(number) or len(set(number)) == 1:
        return None
    around = Around(match)
    leads = around.label == "CARTAO" and around.leads
    is_named = leads or (_CARD_AFTER.match(match.string, match.end()) is not None and luhn.is_valid(number))
    is_whole = luhn.is_valid(number) or (len(number) == _LONGEST and "cart" in match.string[: match.start()])
    return match.span() if is_named and is_whole and not around.is_glued else None


SEARCHES: Final[tuple[Search, ...]] = (
    Search("CARTAO", _CARD, _find_card),
    Search("CARTAO", _CARD_APART, _find_card_apart),
)
