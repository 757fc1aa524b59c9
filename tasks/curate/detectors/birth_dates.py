"""Dates of birth: a date beside a word for one. Dates of orders and deliveries stay."""

import re
from typing import Final

from tasks.curate.detectors.context import LABEL_START, LEAD, Search, Span

_MONTH: Final = (
    r"(?:jan(?:eiro)?|fev(?:ereiro)?|mar(?:[cç]o)?|abr(?:il)?|mai(?:o)?|jun(?:ho)?|jul(?:ho)?|ago(?:sto)?|set(?:embro)?"
    r"|out(?:ubro)?|nov(?:embro)?|dez(?:embro)?)\.?"
)
_DAY: Final = r"(?:0?[1-9]|[12]\d|3[01])"
_TO_THIRTY_ONE: Final = (
    r"(?:primeiro|(?:vinte|trinta)(?: e \w{2,6})?|uma?|dois|tr[eê]s|quatro|cinco|seis|sete|oito|nove|dez\w{0,6}|onze"
    r"|doze|treze|[cq]u?atorze|quinze)"
)
_YEAR_IN_WORDS: Final = r"(?:mil (?:e )?novecentos e \w{3,9}(?: e \w{2,6})?|dois mil(?: e \w{2,9}(?: e \w{2,6})?)?)"
_IN_WORDS: Final = rf"(?:(?:{_TO_THIRTY_ONE}|{_DAY}) de {_MONTH}(?: d[eo](?: ano de)? {_YEAR_IN_WORDS})?)"
_NUMBER: Final = r"(?:0?[1-9]|1[0-2])"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d|[0-9]\d)"
_GAP: Final = r" ?[/.·•,\\_-] ?"


def _date(year: str, name: str) -> str:
    """Return the pattern of a date, whose group of the year has a name of its own for each shape."""
    years = [year.replace("?P<year>", f"?P<{name}{number}>") for number in range(4)]
    whole = r"(?:19|20)\d\d"
    return (
        rf"{_DAY}(?:{_GAP}| ){_NUMBER}(?:{_GAP}| ){years[0]}"
        rf"|{_DAY}(?:º|°|o)?(?: de |{_GAP}| ){_MONTH}(?: de | do ano de |{_GAP}| ){years[1]}"
        rf"|(?P<{name}iso>{whole})[/.-]{_NUMBER}[/.-]{_DAY}"
        rf"|(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])(?P<{name}bare>{whole})"
    )


_WITHOUT_YEAR: Final = rf"{_DAY}(?: ?/ ?{_NUMBER}|(?:º|°|o)? de {_MONTH})"
_MONTH_OF_A_YEAR: Final = rf"{_MONTH} ?(?:de|/) ?(?:19\d\d|200\d|201[0-2])"
_BORN: Final = (
    r"nasc(?:i|iu|eu|e|id[oa]s?|imento|to|\.)?|d\.? ?n\.?(?=[ :.-]{0,3}\d)|dt\.? ?nasc\w{0,7}\.?"
    r"|data ?nasc\w{0,7}|dob|natal[ií]cio"
)
_LABELLED: Final = re.compile(
    rf"{LABEL_START}(?:{_BORN})(?![^\W\d_]){LEAD}(?<![^\W_])"
    rf"(?P<value>{_date(_YEAR, 'born')}|{_IN_WORDS}|{_WITHOUT_YEAR}|{_MONTH_OF_A_YEAR})(?![\w]|[/.-]\d)"
)
_BIRTHDAY: Final = re.compile(
    rf"{LABEL_START}(?:anivers[aá]rio|niver|anivers|bday|sou de(?= \d\d?(?:[/.-]\d\d?[/.-]\d| de )))"
    rf"(?![^\W\d_]){LEAD}(?<![^\W_])(?P<value>{_date(_YEAR, 'year')})(?![\w]|[/.-]\d)"
)
_OWN_BIRTHDAY: Final = re.compile(
    rf"{LABEL_START}(?:(?:meu|fa[cç]o|fazer|fa[cç]a|fiz) (?:anivers[aá]rio|anivers|niver)"
    r"|(?:fa[cç]o|fazer|fiz|completo|completei|completar) \d{1,3} (?:anos|aninhos)(?! de | aqui)|aniversariante"
    r"|(?<!festa d[eo] )(?<!oferta de )(?<!promo[cç][aã]o de )(?:anivers[aá]rio|niver|anivers)(?: del[ea]"
    r"| d[aoe] (?!loja|site|empresa|marca|cidade|shopping|magalu|amazon|mercado|casamento|namoro)"
    r"[^\W\d]{2,12}){0,2}(?= ?[:=]| (?:é|eh) ))"
    rf"(?![^\W\d_]){LEAD}(?<![^\W_])(?P<value>{_date(_YEAR, 'own')}|{_IN_WORDS}|{_WITHOUT_YEAR})(?![\w]|[/.-]\d| que )"
)
"""A birthday that is told as somebody's, also without its year; that of a purchase (`vai fazer 2 anos que`) is none."""
_AFTER: Final = re.compile(
    rf"(?<![\w/.-])(?P<value>{_date(_YEAR, 'year')})(?: (?:é|eh|e|foi) |[ ]?[(-] ?)"
    r"(?:(?:a|minha|meu|sua|dela|dele|essa|esta|data|dt|de|o|do|da) ){0,6}(?:nasc(?:imento|\.)?"
    r"|anivers[aá]rio)(?![^\W\d_])"
)
_LATEST_OF_A_BIRTHDAY: Final = 2012
"""Later dates beside `aniversário` are mostly those of the party that an order came late for."""


def _find_born(match: re.Match[str]) -> Span | None:
    return match.span("value")


def _find_birthday(match: re.Match[str]) -> Span | None:
    year = next(int(text) for name, text in match.groupdict().items() if name.startswith("year") and text)
    if year < 100:
        year += 1900 if year > _LATEST_OF_A_BIRTHDAY % 100 else 2000
    is_party = year > _LATEST_OF_A_BIRTHDAY and "nasc" not in match[0]
    return None if is_party else match.span("value")


SEARCHES: Final[tuple[Search, ...]] = (
    Search("NASCIMENTO", _LABELLED, _find_born, ("nasc", "natal", "dob", "dn", "d.n", "d n", "d. n")),
    Search("NASCIMENTO", _BIRTHDAY, _find_birthday, ("niver", "bday", "sou de ")),
    Search("NASCIMENTO", _OWN_BIRTHDAY, _find_born, ("niver", " anos", "aninhos")),
    Search("NASCIMENTO", _AFTER, _find_birthday, ("nasc", "niver")),
)
