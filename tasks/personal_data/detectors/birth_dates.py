"""Dates of birth: a date beside a word for one. Dates of orders and deliveries stay."""

import re
from typing import Final

from tasks.personal_data.detectors.context import LABEL_START, LEAD, Search, Span

_MONTH: Final = (
    r"(?:jan(?:eiro)?|fev(?:ereiro)?|mar(?:[cç]o)?|abr(?:il)?|mai(?:o)?|jun(?:ho)?|jul(?:ho)?|ago(?:sto)?|set(?:embro)?"
    r"|out(?:ubro)?|nov(?:embro)?|dez(?:embro)?)\.?"
)
_DAY: Final = r"(?:0?[1-9]|[12]\d|3[01])(?:º|°|o)?"
_TO_THIRTY_ONE: Final = (
    r"(?:primeiro|(?:vinte|trinta)(?: e \w{2,6})?|uma?|dois|tr[eê]s|quatro|cinco|seis|sete|oito|nove|dez\w{0,6}|onze"
    r"|doze|treze|[cq]u?atorze|quinze)"
)
_YEAR_IN_WORDS: Final = (
    r"(?:mil (?:e )?novecentos e \w{3,9}(?: e \w{2,6})?|dois mil(?: e \w{2,9}(?: e \w{2,6})?)?"
    r"|\w{5,9}(?<=[ei]nta)(?: e \w{2,6})?)"
)
_NUMBER: Final = r"(?:0?[1-9]|1[0-2])"
_YEAR: Final = r"(?:(?:1[89]|20)\d\d|\d\d)"
_OF: Final = r"(?: ?[/.·•,;:|\\_-]{1,2} ?|,? (?:m[eê]s|ano) | d[eo](?: (?:ano|m[eê]s)(?: de)?)? | )"
_DATE: Final = (
    rf"(?:{_DAY}(?: dias)?{_OF}(?:{_NUMBER}|{_MONTH}|[ivx]{{1,4}}){_OF}{_YEAR}|(?:{_TO_THIRTY_ONE}"
    rf"|{_DAY}) d[eo] (?:{_MONTH}|{_TO_THIRTY_ONE}){_OF}{_YEAR_IN_WORDS}"
    rf"|{_DAY}{_MONTH}{_YEAR}|(?:19|20)\d\d[/.-]{_NUMBER}[/.-]{_DAY}|(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])(?:19"
    rf"|20)\d\d)"
)
_DAY_OF_A_MONTH: Final = rf"(?:{_DAY}(?: ?/ ?|,? (?:do )?m[eê]s ){_NUMBER}|(?:{_TO_THIRTY_ONE}|{_DAY}) de {_MONTH})"
_MONTH_OF_A_YEAR: Final = rf"(?:{_MONTH} ?(?:d[eo]|/) ?(?:19\d\d|200\d|201[0-2]|\d\d)|{_NUMBER} ?/ ?19\d\d)"
_BARE: Final = r"(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])\d\d"
_END: Final = r"(?!\w|[/.-]\d)"
_BORN: Final = (
    r"(?:(?<!site )(?<!loja )(?<!empresa )(?<!marca )na[sc]{1,2}(?:i|iu|eu|e|id[oa]s?|im?e?n?to|t[oº]?|\.)?"
    r"|d[./]?n\.?|d\.? n\.?(?=[ :.=-]{0,3}\d)|d(?:[ad]ta?|t|at)?\.? ?(?:d[eo]? ?)?_?na[sc]{1,2}\w{0,9}\.?"
    r"|dob|natal[ií]cio)(?![^\W\d_])"
)
_ANNIVERSARY: Final = r"(?:aniv(?:ers[aá]rio|ers)?\.?|niver|bday)(?![^\W\d_])"
_PERSON: Final = (
    r"(?:el[ea]|filh[oa]|net[oa]|m[aã]e|pai|v[oó]|v[oô]|av[oóô]|sobrinh[oa]|beb[eê]|menin[oa]|espos[oa]|marido"
    r"|irm[aã]o?|afilhad[oa]|crian[cç]a|namorad[oa]|amig[oa]|prim[oa]|sogr[oa]|ti[oa])"
)
_AGE: Final = r"\d{1,3} (?:an(?:o|os|inhos?))"
_LABELLED: Final = re.compile(
    rf"{LABEL_START}{_BORN}(?:,? (?:em|no|na) [^\W\d_]{{3,}}(?: [^\W\d_]{{2,}}){{0,2}},?(?= (?:em|n?o|dia) ))?"
    rf"(?:(?: aos? )?{LEAD})(?<![^\W_])(?P<value>{_DATE}|{_DAY_OF_A_MONTH}|{_MONTH_OF_A_YEAR}|{_BARE}){_END}"
)
_NO_BIRTH: Final = (
    r"compr|pedid|pedi |cheg|entreg|receb|prazo|prev|envi|post|pag|vend|venc|emit|emiss|nota|lei |decret|fund|public"
    r"|lan[cç]|edi[cç]|cliente|cas[aeo]|grav|alian|rel[oó]g|v[aá]lid|val[. ]|lote|fabric|garant|loja|empresa|desde"
)
"""Beginnings of words that have dates of their own."""
_OF_A_PERSON: Final = re.compile(
    rf"{LABEL_START}(?:{_BORN}|{_ANNIVERSARY}|{_AGE}|idad\w{{1,2}}|idos[oa]|signo|sou|cadastro|minha data"
    rf"|titular|dados|\[cpf\]|\[rg\]|{_PERSON}|mo[cç][oa])(?![^\W\d_])(?:(?!{_NO_BIRTH})(?:[^\d\[\]]"
    rf"|(?<!\d)(?:19\d)?\d{{1,2}}(?![\d/.-]))){{1,60}}?(?<![^\W_])(?P<value>{_DATE}|{_MONTH} de (?:19\d\d|200\d)){_END}"
)
_AFTER: Final = re.compile(
    rf"(?<![\w/.-])(?P<value>{_DATE})(?: (?:é|eh|e|foi) |[ ,]{{1,2}}(?:ess[ae]|est[ae]) |[ ]?[,(;|/-]? ?)"
    r"(?:(?:é|a|minha|meu|sua|dela|dele|data|dt|de|o|do|da) ){0,6}(?:(?P<nasc>nasc(?:imento|\.)?|anivers[aá]rio)"
    r"|maior de|cpf|rg|\[cpf\]|\[rg\])(?![^\W\d_])"
)
_DAY_OR_DATE: Final = rf"(?P<value>{_DATE}|{_DAY_OF_A_MONTH}){_END}(?! que )"
_NOT_OF_A_SHOP: Final = r"(?!loja|site|empresa|marca|cidade|shopping|magalu|amazon|mercado|casamento|namoro)"
_OF_SOMEBODY: Final = (
    rf"(?: del[ea]| d[aoe] {_NOT_OF_A_SHOP}(?:(?:minha|meu|nossa"
    rf"|nosso) )?[^\W\d_]{{2,12}}(?: {_NOT_OF_A_SHOP}[^\W\d_]{{2,12}})?)"
)
_BIRTHDAY: Final = re.compile(
    rf"{LABEL_START}(?:meu {_ANNIVERSARY}|data d[eo] (?:meu )?{_ANNIVERSARY}|data {_ANNIVERSARY}"
    rf"|dia d[oe] {_ANNIVERSARY}{_OF_SOMEBODY}|(?<!d[eo] )niver(?= dia \d)|aniversariante"
    rf"|(?<!loja )(?<!site )(?<!empresa )(?:fa[cç]o|faz|fazem|fazer|fa[cç]a|fez|fiz) {_ANNIVERSARY}"
    rf"|(?:fa[cç]o|fazer|fiz|completo|completei|completar) (?:{_AGE}|anos|\d\d(?= (?:(?:n?o )?dia|em) ))(?! de | aqui)"
    rf"|{_PERSON}(?: [^\W\d_]{{2,12}})? (?:vai |ir[aá] )?(?:faz|fez|completa|completou)(?:er|r|r[aá])? (?:{_AGE}|anos)"
    rf"|(?:(?<!n[oa] )(?<!d[eo] )(?<!ao )(?<!pro )(?<!pr[oa] o )(?<!para o )(?<!cupom ){_ANNIVERSARY}(?:(?= ?[:=]"
    rf"| (?:é|eh) |[ ]\d)|(?: de {_AGE})?{_OF_SOMEBODY}(?= ?[:=]| (?:é|eh|era|ser[aá]|foi|cai|dia|no dia) ))"
    rf"|{_ANNIVERSARY}[^\d\[]{{1,40}}(?<!\w)[oa] (?:meu|minha|del[ea])(?= (?:é|eh|foi|cai) )"
    rf"|(?<!festa d[eo] ){_ANNIVERSARY}{_OF_SOMEBODY}(?=,? que (?:é|eh|foi|ser[aá]|cai) )))(?![^\W\d_])"
    rf"(?: hoje| ontem| amanh[aã]|,? que (?:cai|ser[aá])| cai| ser[aá])?{LEAD}(?:agora "
    rf"|hoje )?(?<![^\W_]){_DAY_OR_DATE}"
    rf"|(?<![\w/.-])(?P<before>{_DAY_OF_A_MONTH}) (?:é|eh|foi) (?:[oa] )?(?:meu {_ANNIVERSARY}"
    rf"|{_ANNIVERSARY}{_OF_SOMEBODY})"
)
"""A birthday that is told as somebody's, also without its year; that of a purchase (`vai fazer 2 anos que`) is none."""
_WHOLE_YEAR: Final = re.compile(r"(?:1[89]|20)\d\d(?!\d)")
_LATEST_OF_A_BIRTHDAY: Final = 2012
"""Later dates beside `aniversário` are mostly those of the party that an order came late for."""
_LATEST_OF_AN_ADULT: Final = 2007
_LATEST_TWO_DIGITS: Final = 30
"""`12/03/18` is an order's date."""
_SAYS_BIRTH: Final = re.compile(rf"{_BORN}|{_ANNIVERSARY}")


def _find_told(match: re.Match[str]) -> Span | None:
    return match.span("value")


def _find_birthday(match: re.Match[str]) -> Span | None:
    return match.span("value" if match["value"] else "before")


def _find_early(match: re.Match[str]) -> Span | None:
    """Take a date that is too early for an order, beside a word for a person."""
    value = match["value"]
    whole = _WHOLE_YEAR.search(value)
    year = int(whole[0]) if whole else 1900
    if not whole and value[-1].isdigit():
        year += int(value[-2:]) + (100 if int(value[-2:]) <= _LATEST_TWO_DIGITS else 0)
    says_birth = _SAYS_BIRTH.search(match[0]) is not None
    return match.span("value") if year <= (_LATEST_OF_A_BIRTHDAY if says_birth else _LATEST_OF_AN_ADULT) else None


SEARCHES: Final[tuple[Search, ...]] = (
    Search("NASCIMENTO", _LABELLED, _find_told, ("nas", "nac", "natal", "dob", "dn", "d.n", "d n", "d. n", "d/n")),
    Search(
        "NASCIMENTO",
        _BIRTHDAY,
        _find_birthday,
        ("niver", "aniv", " anos", "faço", "faco", "fiz", "complet", " ano ", "aninho"),
    ),
    Search("NASCIMENTO", _OF_A_PERSON, _find_early),
    Search("NASCIMENTO", _AFTER, _find_early, ("nasc", "niver", "maior de", "cpf", "rg")),
)
