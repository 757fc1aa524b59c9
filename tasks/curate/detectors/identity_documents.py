"""Numbers of documents behind their label: RG, CNH, PIS, título de eleitor, and those that were typed wrong.

Few of them have a shape or check digits of their own, so the label decides, and a wrong check digit changes nothing:
who mistypes one digit of a CPF still gives away ten of eleven. A CPF or CEP that begins with zero loses it in
spreadsheets.
"""

import re
from typing import Final

from tasks.curate.detectors.context import AFTERWARDS, LABEL_START, LEAD, Around, Search, Span, digits_of
from tasks.curate.detectors.taxpayers import GAP, is_cpf

_END: Final = r"(?![^\W_])"
_STATE: Final = r"(?:a[clmp]|ba|ce|df|es|go|m[agst]|p[abeir]|r[jnors]|s[cep]|to)"
_SEP: Final = r"[ \t.,·•*/_-]{0,3}"


def _labelled(label: str, value: str) -> re.Pattern[str]:
    """Return the pattern of a label, what leads from it to its value, and the value."""
    return re.compile(rf"{LABEL_START}(?:{label})(?![^\W\d_]){LEAD}(?:(?<![^\W_])|(?=\d))(?P<value>{value}){_END}")


def _labelled_behind(label: str, value: str) -> re.Pattern[str]:
    """Return the pattern of a value, and of its label where no other value follows."""
    return re.compile(
        rf"(?<![\w.,/-])(?P<value>{value})(?![^\W_]|[./-]\d){AFTERWARDS}(?:{label})(?![^\W\d_])(?![ .:=nº°-]{{0,5}}\d)"
    )


_RG_SHAPE: Final = r"\d{1,3}(?:[ .,-]\d{3}){2,3}(?: ?[-./ ] ?(?:\d{1,2}|x)|x)?|\d{4,12}(?: ?[-./] ?(?:\d{1,2}|x)|x)?"
_RG_LABEL: Final = r"r\.?g\.?|registro geral|identidade|ident\.|c\.i\.?(?=[:.º ]{1,3}\d)"
_RG: Final = _labelled(
    _RG_LABEL,
    rf"(?:(?:{_STATE}|m)[ .-]{{0,3}})?(?:{_RG_SHAPE})",
)
_RG_ELSEWHERE: Final = re.compile(rf"(?<![\w.,/-])\d{{1,2}}\.\d{{3}}\.\d{{3}} ?- ?[\dx]{_END}(?![./-]\d)")
_RG_NEAR: Final = re.compile(rf"{LABEL_START}(?:r\.?g|identidade)(?![^\W\d_])")
_NEAR: Final = 60
_CNH_LABEL: Final = (
    r"c\.?n\.?h\.?|habilita[cç][aã]o|(?:carteira|carta|registro|documento) de motorista|(?:carteira"
    r"|carta) nacional|renach"
    r"|(?:registro|n[uú]mero) na (?:carteira|habilita[cç][aã]o)"
)
_CNH_VALUE: Final = rf"\d(?:{_SEP}\d){{8,11}}"
_CNH: Final = _labelled(rf"(?:{_CNH_LABEL})(?: (?:cat(?:egoria|\.)?)? ?[a-e]{{1,2}}(?![^\W_]))?", _CNH_VALUE)

_PIS: Final = _labelled(
    r"pis(?: ?[/-] ?pasep| ?[/-] ?nis)?|pasep|n\.?i\.?s|n\.?i\.?t|cad ?[uú]nico|pis pasep",
    rf"\d(?:{_SEP}\d){{9,11}}",
)
_PIS_ALONE: Final = re.compile(r"(?<![\w.,/-])\d{3}\.\d{5}\.\d{2}-\d(?![\w]|[./-]\d)")
_PIS_WEIGHTS: Final = (3, 2, 9, 8, 7, 6, 5, 4, 3, 2)
_PIS_BEHIND: Final = _labelled_behind(r"pis|pasep|nis|nit", rf"\d(?:{_SEP}\d){{10}}")
_RG_BEHIND: Final = _labelled_behind(r"r\.?g|identidade", rf"(?:{_STATE}[ -]?)?(?:{_RG_SHAPE})")
_CNH_BEHIND: Final = _labelled_behind(_CNH_LABEL, _CNH_VALUE)
_VOTER_BEHIND: Final = _labelled_behind(r"t[ií]tulo", rf"\d(?:{_SEP}\d){{11}}")
_CPF_BEHIND: Final = _labelled_behind(r"c\.?p\.?f", rf"\d(?:{_SEP}\d){{8,10}}")
_VOTER: Final = _labelled(
    r"t[ií]tulo(?:(?: d[eo])?(?: eleitor(?:al)?| eleitora))?|inscri[cç][aã]o eleitoral|eleitora?l?",
    rf"\d{{4}}{_SEP}\d{{4}}{_SEP}\d{{4}}|\d(?:{_SEP}\d){{9,12}}",
)
_STATES_OF_VOTERS: Final = 28
_CPF: Final = _labelled(
    r"c\.?p\.?f\.?(?: ?/ ?m\.?f\.?)?",
    rf"\d{{2,4}}{GAP}\d{{3}}{GAP}\d{{3}}{GAP}\d{{1,2}}|\d{{2,3}}{GAP}\d{{3}}{GAP}\d{{2,4}}{GAP}\d{{2}}|\d{{9,12}}"
    rf"|\d\.\d{{3}}\.\d{{3}}[-/]\d{{2}}"
    rf"|\d{{7,10}}{GAP}\d{{2}}|\d(?:[ .-]\d){{8,11}}",
)
_CPF_TYPED_WRONG: Final = re.compile(r"(?<![\w.,/-])\d{3}\.\d{3}\.\d{3} ?[-/] ?\d{2}(?![\w]|[./-]\d)")
_CNPJ: Final = _labelled(
    r"c\.?n\.?p\.?j\.?(?: ?/ ?m\.?f\.?)?",
    rf"\d{{1,3}}{GAP}\d{{3}}{GAP}\d{{3}}{GAP}\d{{4}}{GAP}\d{{1,2}}|\d{{12,15}}|\d{{7,8}}{GAP}\d{{4}}{GAP}\d{{2}}",
)
_CEP: Final = _labelled(
    r"c\.?e\.?p\.?|(?:c[oó]d(?:igo)?\.? )postal",
    rf"\d\.?\d{{3}}{_SEP}\d{{3}}|\d{{2}}\.?\d{{3}}{_SEP}\d{{3}}|\d{{5}}{GAP}\d{{3}}",
)


def _find_labelled(match: re.Match[str]) -> Span | None:
    """Take the value, if it is not the example of a form (`000.000.000-00`) nor another document's."""
    digits = digits_of(match["value"])
    return match.span("value") if len(set(digits)) > 1 else None


def _find_rg(match: re.Match[str]) -> Span | None:
    """Leave a CPF to its own search: `RG e CPF: 529.982.247-25 / 12.345.678-9`."""
    return None if is_cpf(digits_of(match["value"])) and "x" not in match["value"] else _find_labelled(match)


def _find_rg_elsewhere(match: re.Match[str]) -> Span | None:
    before = match.string[max(match.start() - _NEAR, 0) : match.start()]
    return match.span() if _RG_NEAR.search(before) and not Around(match).is_order else None


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


def _find_cpf_typed_wrong(match: re.Match[str]) -> Span | None:
    around = Around(match)
    is_example = len(set(digits_of(match[0]))) == 1
    return match.span() if "CPF" in around.labels and not is_example else None


_CUES_OF_RG: Final = ("rg", "r.g", "geral", "ident", "c.i")
_CUES_OF_CNH: Final = ("cnh", "c.n", "cn.", "habilita", "motorista", "nacional", "renach", "carteira")
_CUES_OF_PIS: Final = ("pis", "pasep", "nis", "n.i", "ni.", "nit", "nico")
_CUES_OF_CPF: Final = ("cpf", "c.p", "cp.")
SEARCHES: Final[tuple[Search, ...]] = (
    Search("RG", _RG, _find_rg, _CUES_OF_RG),
    Search("CNH", _CNH, _find_labelled, _CUES_OF_CNH),
    Search("PIS", _PIS, _find_labelled, _CUES_OF_PIS),
    Search("PIS", _PIS_ALONE, _find_pis_alone),
    Search("TITULO", _VOTER, _find_voter, ("tulo", "eleitor")),
    Search("RG", _RG_BEHIND, _find_rg, _CUES_OF_RG),
    Search("CNH", _CNH_BEHIND, _find_labelled, _CUES_OF_CNH),
    Search("PIS", _PIS_BEHIND, _find_labelled, _CUES_OF_PIS),
    Search("TITULO", _VOTER_BEHIND, _find_labelled, ("tulo",)),
)
"""Before the searches for numbers with a shape: the label outweighs it."""
LATER_SEARCHES: Final[tuple[Search, ...]] = (
    Search("CPF", _CPF, _find_labelled, _CUES_OF_CPF),
    Search("CPF", _CPF_BEHIND, _find_labelled, _CUES_OF_CPF),
    Search("CNPJ", _CNPJ, _find_labelled, ("cnpj", "c.n", "cn.", "cnp")),
    Search("CPF", _CPF_TYPED_WRONG, _find_cpf_typed_wrong, _CUES_OF_CPF),
    Search("CEP", _CEP, _find_labelled, ("cep", "c.e", "ce.", "postal")),
    Search("RG", _RG_ELSEWHERE, _find_rg_elsewhere, _CUES_OF_RG),
)
"""After them: what is left behind a label was typed wrong."""
