"""Telephones, whose place in the numbering plan is verified."""

import re
from functools import lru_cache
from typing import Final

from tasks.personal_data.detectors.context import EDGE, LETTER_AT, Around, Search, Span, digits_of

_MOST_GROUPS: Final = 6
"""Digit groups in a telephone without a keyword: `+55 11 9 8765 43 21`."""
_TIGHT: Final = r"(?:[ .·•_-]{0,3}|[,*/])"
_EXTENSION: Final = r"(?P<extension>,? ?(?:ramal|rm\.?) ?:? ?\d{1,5})?"
_PHONE: Final = re.compile(
    rf"{EDGE}(?P<country>\+ ?55[ .-]{{0,2}}|0{{0,2}}55[ .-]{{0,2}})?"
    r"(?P<trunk>(?:[(\[] ?)?0 ?(?:(?:xx|\*\*) ?)?(?:[1-9]\d ?(?=[(\[]?[1-9]\d))?)?"
    r"(?P<area>(?:[(\[] {0,2})?[1-9]\d(?: {0,2}[)\]])?)(?P<apart>[ .·•/_-]{0,3})"
    r"(?P<number>9[ .·•-]{0,3}\d{4}[ .·•_-]{0,3}\d{4}|9\d{4}[ .-]\d\d[ .-]\d\d|9\d\d[ .]\d{3}[ .]\d{3}"
    r"|[2-9]\d{3}[ .·•_-]{0,3}\d{4})(?!\d)"
    rf"{_EXTENSION}"
)
_NO_UNIT: Final = r"(?!\d| ?(?:mah|reais|btus?|lumens|kg|k?w|[ckm]?m|ml|[kmg]?hz|[mg]b)(?![^\W_]))"
_PRICE_OR_CODE: Final = re.compile(r"(?:\$|n[º°]|#) ?\Z")
_PHONE_APART: Final = re.compile(
    rf"{EDGE}(?:\+? ?55{_TIGHT})?(?P<area>[(\[]?0?[1-9] ?\d[)\]]?{_TIGHT})?"
    rf"(?P<number>(?:9{_TIGHT})?[2-9](?:{_TIGHT}\d){{7}}){_NO_UNIT}{_EXTENSION}"
)
_GROUPS: Final = re.compile(r"\d+")
_LOCAL_PHONE: Final = re.compile(
    rf"{EDGE}(?P<number>(?:9[ .·•-]{{0,3}})?[2-9]\d{{3}}[ .·•_-]{{0,3}}\d{{4}}){_NO_UNIT}{_EXTENSION}"
)
_CLAUSE_BEFORE: Final = re.compile(r"(?:\A|[^\w ] ?|\b(?:n?o|do|pelo|é|eh|pro|p/?|para|pra|ao) )\Z")
_CLAUSE_AFTER: Final = re.compile(r" ?(?:[^\w ]|\Z)")
"""Where a number stands by itself."""
_DATE: Final = re.compile(r"\d\d?[./ -]\d\d?[./ -](?:19|20)\d\d|(?:19|20)\d\d[./ -]?\d\d?[./ -]?\d\d?")
_YEARS_OR_ROUND: Final = re.compile(r"(?:19|20)\d\d\D{0,3}(?:19|20)\d\d|\d\d00\D{0,3}\d\d00")
_OF_COMPANIES: Final = re.compile(r"400[34]|300[34]|4020")
_BESIDE: Final = re.compile(r"(?: ?[/,;|-]| ou| e)? ?\Z")
_NEXT: Final = re.compile(r"[ \t]{0,2}(?:[/,;|]|ou |e )?[ \t]{0,2}")
_AREA_AFTER: Final = re.compile(
    rf"{EDGE}(?P<number>(?:9[ .·•-]{{0,3}})?[2-9]\d{{3}}[ .·•_-]{{0,3}}\d{{4}})"
    r"(?: {0,2}[(\[] ?(?:ddd ?)?(?P<inside>0?[1-9]\d) ?[)\]]"
    r"|[ ,.-]{1,3}(?:o |com |e )?ddd(?: [ée])?[ :.-]{1,2}\(?(?P<named>0?[1-9]\d)\)?(?!\d))(?![ .-]{0,2}9?[ .]?\d{4})"
)


@lru_cache(maxsize=4_096)
def is_phone(national: str) -> bool:
    """Return whether area and number are a mobile or a landline in Brazil's plan; a mobile may lack its ninth digit."""
    import phonenumbers

    if len(national) == 10 and national[2] in "6789":
        national = f"{national[:2]}9{national[2:]}"
    kinds = {phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE}
    return phonenumbers.number_type(phonenumbers.PhoneNumber(country_code=55, national_number=int(national))) in kinds


def _find_phone(match: re.Match[str]) -> Span | None:
    national = digits_of(match["area"]) + digits_of(match["number"])
    if not is_phone(national):
        return None
    around = Around(match)
    if "(" in match["area"] or "[" in match["area"] or ")" in match["area"] or match[0].startswith("+"):
        return _with_bracket(match)
    if around.is_order or around.is_glued:
        return None
    is_foreign = match["country"] and (len(national) == 11 or (match["apart"] and around.is_alone))
    is_told = around.label == "TELEFONE" and (around.leads or around.is_alone or _is_followed(match))
    is_named = is_told or is_foreign or len(match["trunk"] or "") > 2 or match["extension"]
    return _with_bracket(match) if is_named or _looks_like_one(match, around) else None


def _looks_like_one(match: re.Match[str], around: Around) -> bool:
    """Return whether a telephone shows by its shape: a mobile with a hyphen, or a number apart from others."""
    number = match["number"]
    is_mobile = len(digits_of(number)) == 9
    if is_mobile and number[-5] == "-" and match["apart"].strip() in {"", "-", "."}:
        return True
    is_landline = "-" in number or (match["apart"] != "" and _is_a_clause(match))
    is_shaped = is_mobile or (is_landline and not _YEARS_OR_ROUND.fullmatch(number))
    return (around.is_alone or _is_followed(match)) and is_shaped


def _is_a_clause(match: re.Match[str]) -> bool:
    before = match.string[max(match.start() - 6, 0) : match.start()]
    return bool(_CLAUSE_BEFORE.search(before) and _CLAUSE_AFTER.match(match.string, match.end()))


def _is_followed(match: re.Match[str]) -> bool:
    """Return whether another telephone with an area stands right behind one."""
    gap = _NEXT.match(match.string, match.end())
    later = _PHONE.match(match.string, gap.end()) if gap and gap[0] else None
    return later is not None and is_phone(digits_of(later["area"]) + digits_of(later["number"]))


def _find_area_after(match: re.Match[str]) -> Span | None:
    """Take `98888-7777 (11)`."""
    area = digits_of(match["inside"] or match["named"])
    around = Around(match)
    is_whole = is_phone(area.removeprefix("0") + digits_of(match["number"]))
    return match.span() if is_whole and not around.is_order and not around.is_glued else None


def _with_bracket(match: re.Match[str]) -> Span:
    """Return the span of a telephone, with the bracket before its area if the area closes one."""
    start, area = match.start(), match["area"]
    opens = (area[-1] in ")]") and "(" not in match[0] and "[" not in match[0]
    return (start - 1 if opens and start and match.string[start - 1] in "([" else start), match.end()


def _find_phone_apart(match: re.Match[str]) -> Span | None:
    area, number = digits_of(match["area"] or "").removeprefix("0"), digits_of(match["number"])
    around = Around(match)
    is_mobile = len(number) == 9
    if _DATE.fullmatch(match[0]):
        return None
    is_whole = is_phone(area + number) if area else is_mobile or (around.is_near and number[0] in "2345")
    if (
        not is_whole
        or (not area and _OF_COMPANIES.match(number))
        or around.is_order
        or around.is_glued
        or not around.is_alone
    ):
        return None
    if around.label == "TELEFONE" and around.leads:
        return match.span()
    is_marked = match[0][0] in "+([" or (is_mobile and "-" in match[0][-6:])
    return match.span() if area and is_marked and len(_GROUPS.findall(match[0])) <= _MOST_GROUPS else None


def _find_local_phone(match: re.Match[str]) -> Span | None:
    number = digits_of(match["number"])
    around = Around(match)
    if around.is_order or around.is_glued or _OF_COMPANIES.match(number):
        return None
    gap = _NEXT.match(match.string, match.end())
    is_followed = gap is not None and gap[0] != "" and _LOCAL_PHONE.match(match.string, gap.end()) is not None
    is_round = _YEARS_OR_ROUND.fullmatch(match["number"]) is not None
    is_dialled = around.is_near or not is_round
    is_apart = around.is_alone or is_followed or (around.is_near and match.string[match.end() : match.end() + 1] == " ")
    if around.label == "TELEFONE" and around.leads and is_dialled and is_apart:
        return match.span()
    if not around.is_alone:
        return None
    has_hyphen = "-" in match["number"][-6:]
    is_mobile = len(number) == 9 and number[1] in "6789"
    before = match.string[max(match.start() - 3, 0) : match.start()]
    is_bare = match["number"].isdigit() or (not has_hyphen and _PRICE_OR_CODE.search(before))
    return match.span() if (is_mobile and not is_bare) or match["extension"] else None


def is_beside(match: re.Match[str], marks: bytearray, phone: int) -> bool:
    """Return whether a number without an area is next to a telephone with one: `(11) 98765-4321 / 3322-4455`.

    Args:
        match: The number.
        marks: What was found so far, by character.
        phone: Mark of telephones.
    """
    before = _BESIDE.search(match.string[max(match.start() - 4, 0) : match.start()])
    place = match.start() - len(before[0]) - 1 if before else -1
    if before is not None and before[0].strip() in {"", "-"}:
        # Without a word or a mark between them, the second must look like one by itself.
        digits = digits_of(match[0])
        is_whole = (len(digits) >= 10 and is_phone(digits.removeprefix("0")[-11:])) or (
            len(digits) == 9 and digits[0] == "9"
        )
        if not before[0] or not (is_whole or "-" in match[0][-6:]):
            return False
    return place >= 0 and marks[place] == phone and LETTER_AT.match(match.string, match.end()) is None


SEARCHES: Final[tuple[Search, ...]] = (
    Search("TELEFONE", _AREA_AFTER, _find_area_after),
    Search("TELEFONE", _PHONE, _find_phone),
    Search("TELEFONE", _PHONE_APART, _find_phone_apart),
)
LOCAL_SEARCHES: Final[tuple[Search, ...]] = (Search("TELEFONE", _LOCAL_PHONE, _find_local_phone),)
"""Without an area: the last of all, since 8 digits are a CEP as well."""
