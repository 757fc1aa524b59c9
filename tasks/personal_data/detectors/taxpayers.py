"""CPF and CNPJ, whose check digits are verified."""

import re
from typing import Final

from stdnum.br import cnpj, cpf

from tasks.personal_data.detectors.context import EDGE, Around, Search, Span, digits_of
from tasks.personal_data.detectors.phones import is_phone

GAP: Final = r"(?:[ \t.,;:·•*|~=\\/_-]{0,3}| (?:ponto|tra[cç]o|h[ií]fen|barra) )"
"""Between the groups of a number, also as people dictate it."""
_CPF: Final = re.compile(rf"{EDGE}\d{{3}}{GAP}\d{{3}}{GAP}\d{{3}}{GAP}\d{{2}}(?!\d)")
_CPF_APART: Final = re.compile(rf"{EDGE}\d(?:{GAP}\d){{10}}(?!\d)")
_CNPJ: Final = re.compile(rf"{EDGE}\d{{2}}{GAP}\d{{3}}{GAP}\d{{3}}{GAP}\d{{4}}{GAP}\d{{2}}(?!\d)")
_CNPJ_WITH_LETTERS: Final = re.compile(
    r"(?<![a-z0-9])[a-z0-9]{2} ?[ .-]? ?[a-z0-9]{3} ?[ .-]? ?[a-z0-9]{3} ?[/ .-]? ?[a-z0-9]{4} ?[ ./-]? ?[0-9]{2}"
    r"(?![a-z0-9])"
)
_TIMESTAMP: Final = re.compile(r"20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\d")


def is_cpf(number: str) -> bool:
    """Return whether 11 digits are a CPF; eleven equal digits are the example of forms, not a person's."""
    return len(number) == 11 and len(set(number)) > 1 and cpf.is_valid(number)


def _find_cpf(match: re.Match[str]) -> Span | None:
    number = digits_of(match[0])
    if not is_cpf(number):
        return None
    around = Around(match)
    if "." in match[0] or "-" in match[0] or "/" in match[0]:
        return match.span()
    is_dialled = match[0].isdigit() and around.label == "TELEFONE" and is_phone(number)
    if around.is_glued or is_dialled or (around.is_order and "CPF" not in around.labels):
        return None
    return match.span() if around.is_alone or around.label == "CPF" else None


def _find_cpf_apart(match: re.Match[str]) -> Span | None:
    if not is_cpf(digits_of(match[0])):
        return None
    around = Around(match)
    return match.span() if around.label == "CPF" and around.leads else None


def _find_cnpj(match: re.Match[str]) -> Span | None:
    number = digits_of(match[0])
    if len(set(number)) == 1 or not cnpj.is_valid(number):
        return None
    if "/" in match[0] or "-" in match[0]:
        return match.span()
    around = Around(match)
    if around.label == "CNPJ" or "CNPJ" in around.labels:
        return match.span()
    is_order = around.is_order and not match.string[: match.start()].endswith(", ")
    refused = is_order or around.is_glued or not around.is_alone or _TIMESTAMP.fullmatch(number)
    return None if refused else match.span()


def _find_cnpj_with_letters(match: re.Match[str]) -> Span | None:
    number = "".join(filter(str.isalnum, match[0])).upper()
    if number.isdigit() or not cnpj.is_valid(number):
        return None
    if "/" in match[0] or (number[8:12].isdigit() and ("-" in match[0] or "." in match[0])):
        return match.span()
    around = Around(match)
    if around.label == "CNPJ":
        return match.span() if any(map(str.isdigit, number[:12])) else None
    return match.span() if number[8:12] == "0001" and " " not in match[0] and not around.is_order else None


LETTERED_SEARCHES: Final[tuple[Search, ...]] = (Search("CNPJ", _CNPJ_WITH_LETTERS, _find_cnpj_with_letters),)
SEARCHES: Final[tuple[Search, ...]] = (
    Search("CNPJ", _CNPJ, _find_cnpj),
    *LETTERED_SEARCHES,
    Search("CPF", _CPF, _find_cpf),
    Search("CPF", _CPF_APART, _find_cpf_apart),
)
