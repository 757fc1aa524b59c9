"""Numbers of documents behind their label: RG, CNH, PIS, título de eleitor, and those that were typed wrong.

Few of them have a shape or check digits of their own, so the label decides, and a wrong check digit changes nothing:
who mistypes one digit of a CPF still gives away ten of eleven. A CPF or CEP that begins with zero loses it in
spreadsheets.
"""

import re
from functools import partial
from typing import Final

from tasks.personal_data.detectors.context import LABEL_START, LEAD, PLACEHOLDER, Around, Kind, Search, Span, digits_of
from tasks.personal_data.detectors.phones import is_phone
from tasks.personal_data.detectors.taxpayers import GAP, is_cpf

_END: Final = r"(?![^\W_])"
_STATE: Final = r"(?:a[clmp]|ba|ce|df|es|go|m[agst]|p[abeir]|r[jnors]|s[cep]|to)"
_SEP: Final = r"[ \t.,·•*/_-]{0,3}"


def _labelled(label: str, value: str) -> re.Pattern[str]:
    """Return the pattern of a label, what leads from it to its value, and the value."""
    return re.compile(rf"{LABEL_START}(?:{label})(?![^\W\d_]){LEAD}(?:(?<![^\W_])|(?=\d))(?P<value>{value}){_END}")


_RG_SHAPE: Final = r"\d{1,3}(?:[ .,-]\d{3}){2,3}(?: ?[-./ ] ?(?:\d{1,2}|x)|x)?|\d{4,12}(?: ?[-./] ?(?:\d{1,2}|x)|x)?"
_RG_LABEL: Final = r"r\.?g\.?|registro geral|identidade|ident\.|c\.i\.?(?=[:.º ]{1,3}\d)"
_RG: Final = _labelled(
    _RG_LABEL,
    rf"(?:(?:{_STATE}|m)[ .-]{{0,3}})?(?:{_RG_SHAPE})",
)
_CNH_LABEL: Final = (
    r"c\.?n\.?h\.?|habilita[cç][aã]o|(?:carteira|carta|registro|documento) de motorista|(?:carteira"
    r"|carta) nacional|renach"
    r"|(?:registro|n[uú]mero) na (?:carteira|habilita[cç][aã]o)"
)
_CNH_VALUE: Final = rf"\d(?:{_SEP}\d){{8,11}}"
_CNH: Final = _labelled(
    rf"(?:{_CNH_LABEL})(?: (?:cat(?:egoria|\.)?)? ?[a-e]{{1,2}}(?![^\W_]))?", rf"\d(?:{_SEP}\d){{8,11}}"
)

_PIS_LABEL: Final = r"pis(?: ?[/-] ?pasep| ?[/-] ?nis)?|pasep|n\.?i\.?s|n\.?i\.?t|cad ?[uú]nico|pis pasep"
_PIS: Final = _labelled(_PIS_LABEL, rf"\d(?:{_SEP}\d){{9,11}}")
_PIS_ALONE: Final = re.compile(r"(?<![\w.,/-])\d{3}\.\d{5}\.\d{2}-\d(?![\w]|[./-]\d)")
_PIS_WEIGHTS: Final = (3, 2, 9, 8, 7, 6, 5, 4, 3, 2)
_VOTER_LABEL: Final = (
    r"t[ií]t(?:ulo|\.)(?:(?: d[eo])?(?: eleitor(?:al)?| eleitora))?|inscri[cç][aã]o eleitoral|eleitora?l?"
)
_VOTER: Final = _labelled(
    _VOTER_LABEL,
    rf"\d{{4}}{_SEP}\d{{4}}{_SEP}\d{{4}}|\d(?:{_SEP}\d){{9,12}}",
)
_STATES_OF_VOTERS: Final = 28
_CPF: Final = _labelled(
    r"c\.?p\.?f\.?(?: ?/ ?m\.?f\.?)?",
    rf"\d{{2,4}}{GAP}\d{{3}}{GAP}\d{{3}}{GAP}\d{{1,2}}|\d{{2,3}}{GAP}\d{{3}}{GAP}\d{{2,4}}{GAP}\d{{2}}|\d{{9,12}}"
    rf"|\d\.\d{{3}}\.\d{{3}}[-/]\d{{2}}"
    rf"|\d{{7,10}}{GAP}\d{{2}}|\d(?:[ .-]\d){{8,11}}",
)
_CNPJ: Final = _labelled(
    r"c\.?n\.?p\.?j\.?(?: ?/ ?m\.?f\.?)?",
    rf"\d{{1,3}}{GAP}\d{{3}}{GAP}\d{{3}}{GAP}\d{{4}}{GAP}\d{{1,2}}|\d{{12,15}}|\d{{7,8}}{GAP}\d{{4}}{GAP}\d{{2}}",
)
_CEP: Final = _labelled(
    r"c\.?e\.?p\.?|(?:c[oó]d(?:igo)?\.? )postal",
    rf"\d\.?\d{{3}}{_SEP}\d{{3}}|\d{{2}}\.?\d{{3}}{_SEP}\d{{3}}|\d{{5}}{GAP}\d{{3}}",
)


_LABELS: Final = re.compile(
    rf"{LABEL_START}(?:(?P<RG>{_RG_LABEL}|ssp)|(?P<CNH>{_CNH_LABEL}|carteira)|(?P<PIS>{_PIS_LABEL})"
    rf"|(?P<TITULO>t[ií]t\S{{0,3}}(?: d[eo])? eleitor\w{{0,2}}|eleitora?l?)"
    r"|(?P<CPF>c\.?p\.?f)|(?P<CNPJ>c\.?n\.?p\.?j))(?![^\W\d_])"
)
_NUMBER: Final = re.compile(
    rf"(?<![\w.,/$-])(?:(?:{_STATE}|m)[ .-]{{0,3}})?\d(?:{_SEP}\d){{5,13}}(?: ?[-./]? ?x)?"
    r"(?![^\W_]|[./-]\d)"
)
_LENGTHS: Final = {"RG": range(7, 11), "CNH": (11,), "PIS": (11,), "TITULO": (12,), "CPF": range(9, 12), "CNPJ": (14,)}
_SHAPED: Final = {
    "RG": re.compile(r"\d{1,2}\.\d{3}\.\d{3} ?- ?[\dx]"),
    "CPF": re.compile(r"\d{3}\.\d{3}\.\d{3} ?[-/] ?\d{2}"),
}
_NEAR: Final = 70
_BETWEEN: Final = re.compile(rf"{PLACEHOLDER.pattern}|\d(?:[ .-]?\d){{4,13}}")
_NEXT_NUMBER: Final = re.compile(r"[ .:=nº°-]{0,5}\d")
_BEHIND: Final = re.compile(
    r"(?:[ ,;:(\[-]{1,3}|(?<= )(?:(?:é|eh|e|foi|seria|[oa]|meu|minha|seu|sua|n[uú]mero|registro|n[º°]|d[aoe]"
    r"|n[ao]|del[ea]|est[ea]|ess[ea]|certo|carteira|documento) )){0,7}"
)


def _find_labelled(match: re.Match[str]) -> Span | None:
    """Take the value, if it is not the example of a form (`000.000.000-00`) nor another document's."""
    digits = digits_of(match["value"])
    return match.span("value") if len(set(digits)) > 1 else None


def _find_rg(match: re.Match[str]) -> Span | None:
    """Leave a CPF to its own search: `RG e CPF: 529.982.247-25 / 12.345.678-9`."""
    return None if is_cpf(digits_of(match["value"])) and "x" not in match["value"] else _find_labelled(match)


def _find_near(match: re.Match[str], kind: Kind) -> Span | None:
    """Take a number of a document's length whose label is the nearest before it in its sentence, or right behind it."""
    text, start, end = match.string, match.start(), match.end()
    digits = digits_of(match[0])
    if len(digits) not in _LENGTHS[kind] or len(set(digits)) == 1:
        return None
    shape = _SHAPED.get(kind)
    is_shaped = shape is not None and shape.fullmatch(match[0]) is not None
    around = Around(match)
    is_phone_called = around.label == "TELEFONE" and not (len(digits) in {10, 11} and is_phone(digits))
    if around.is_glued or (around.is_near and not is_phone_called and around.label not in {"", kind}):
        return None
    before = text[max(start - _NEAR, 0) : start]
    if not is_shaped:
        before = _BETWEEN.split(before)[-1]
    labels = [label.lastgroup for label in _LABELS.finditer(before)]
    is_right = kind != "CPF" or is_shaped or is_cpf(digits)
    if labels and is_right and (labels[-1] == kind or (is_shaped and kind in labels)):
        return match.span()
    gap = _BEHIND.match(text, end)
    after = _LABELS.match(text, gap.end()) if gap and gap[0] else None
    is_labelled = after is not None and after.lastgroup == kind and _NEXT_NUMBER.match(text, after.end()) is None
    return match.span() if is_labelled else None


def _find_pis_alone(match: re.Match[str]) -> Span | None:
    digits = digits_of(match[0])
    rest = sum(int(digit) * weight for digit, weight in zip(digits, _PIS_WEIGHTS, strict=False)) % 11
    return match.span() if int(digits[-1]) == (0 if rest < 2 else 11 - rest) and len(set(digits)) > 1 else None


def _find_voter(match: re.Match[str]) -> Span | None:
    """A título alone may be a bank's: its number names the voter's state."""
    digits = digits_of(match["value"])
    is_named = "eleitor" in match.string[match.start() : match.start("value")]
    is_of_a_state = len(digits) == 12 and 1 <= int(digits[8:10]) <= _STATES_OF_VOTERS
    return _find_labelled(match) if is_named or is_of_a_state else None


_CUES_OF_RG: Final = ("rg", "r.g", "geral", "ident", "c.i")
_CUES_OF_CNH: Final = ("cnh", "c.n", "cn.", "habilita", "motorista", "nacional", "renach", "carteira")
_CUES_OF_PIS: Final = ("pis", "pasep", "nis", "n.i", "ni.", "nit", "nico")
_CUES_OF_VOTER: Final = ("tulo", "eleitor", "tit.", "tít.")
_CUES_OF_CPF: Final = ("cpf", "c.p", "cp.")
_CUES_OF_CNPJ: Final = ("cnpj", "c.n", "cn.", "cnp")
SEARCHES: Final[tuple[Search, ...]] = (
    Search("RG", _RG, _find_rg, _CUES_OF_RG),
    Search("CNH", _CNH, _find_labelled, _CUES_OF_CNH),
    Search("PIS", _PIS, _find_labelled, _CUES_OF_PIS),
    Search("PIS", _PIS_ALONE, _find_pis_alone),
    Search("TITULO", _VOTER, _find_voter, _CUES_OF_VOTER),
    Search("CNH", _NUMBER, partial(_find_near, kind="CNH"), _CUES_OF_CNH),
    Search("PIS", _NUMBER, partial(_find_near, kind="PIS"), _CUES_OF_PIS),
    Search("TITULO", _NUMBER, partial(_find_near, kind="TITULO"), _CUES_OF_VOTER),
)
"""Before the searches for numbers with a shape: the label outweighs it."""
LATER_SEARCHES: Final[tuple[Search, ...]] = (
    Search("CPF", _CPF, _find_labelled, _CUES_OF_CPF),
    Search("CNPJ", _CNPJ, _find_labelled, _CUES_OF_CNPJ),
    Search("CPF", _NUMBER, partial(_find_near, kind="CPF"), _CUES_OF_CPF),
    Search("CNPJ", _NUMBER, partial(_find_near, kind="CNPJ"), _CUES_OF_CNPJ),
    Search("CEP", _CEP, _find_labelled, ("cep", "c.e", "ce.", "postal")),
    Search("RG", _NUMBER, partial(_find_near, kind="RG"), (*_CUES_OF_RG, "ssp")),
)
"""After them: what is left behind a label was typed wrong."""
