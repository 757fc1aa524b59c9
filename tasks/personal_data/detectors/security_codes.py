"""Security code of a card: three or four digits beside a word for it, or behind the card and its month of expiry."""

import re
from typing import Final

from tasks.personal_data.detectors.context import LABEL_START, LEAD, Search, Span

_UNIT: Final = "(?:zero|uma?|dois|duas|tr[eê]s|quatro|cinco|seis|meia|sete|oito|nove)"
_CODE: Final = (
    rf"(?<!final )(?<!final em )(?<!termina em )(?<!ado em )(?<!ada em )(?P<value>\d(?: ?[.-]? ?\d){{2,3}}"
    rf"|{_UNIT}(?:[ ,.-]{{1,2}}{_UNIT}){{2,3}}|zero \d\d)(?![^\W_]|[.,/-]\d| ?%"
    r"| (?:dias?|reais|vezes|pe[cç]as|unidades|clientes|passos|graus|watts|volts|cilindradas|motor|d[ií]gitos?"
    r"|n[uú]mer\w+)| ?(?:k?g|m?l|[ckm]?m|[gmt]b|[vw]|hp)(?![^\W_]))"
)
_OF_AN_ORDER: Final = (
    r"(?<![^\W_])(?:pedid[oa]s?(?![^\W_])|compr[aeo]|nota|protoc|produt|c[oó]d\w* d[eo] (?!seg|ver|cart|tr)|valor"
    r"|total|pre[cç]o|pag[oua]"
    r"|parcel|vez|frete|erro|dia |quant|seguro|loja|viage|modelo|voo|sa[ií]da|cupom|boleto|tela|desde|final|m[aá]quina"
    r"|tent[eo]|sms)"
)
"""Beginnings of words behind which a number is an order's, a sum or a message's."""
_END: Final = r"(?![^\W\d_])"
_OF_THE_CARD: Final = r"(?: d[oe] (?:meu |minha |seu |sua )?(?:cart[aã]o|cr[eé]dito))"
_LABEL: Final = (
    r"(?:(?:c[oó]d\w*\.?|n[uú]mer\w+|d[ií]gitos)(?= \d{3,4} (?:d[eo] tr[aá]s|atr[aá][sz]|[dn]o verso))"
    r"|seguran[cç]a(?= ?:? ?\d{3,4}[ ,]{1,2}(?:d?o )?\[?cart)|(?:os (?:3|tr[eê]s) de tr[aá]s|(?:3"
    r"|tr[eê]s) d[ií]gitos d[oe] cart[aã]o)|c\.?v\.?[vcn]\.?2?|c\.?c\.?v\.?2?"
    r"|c\.?s\.?c\.?(?= ?[:=é]| \d{3}\b)|security code|(?:c[oó]d\w*\.?|n[uú]m\w*\.?|n[º°]|d[ií]g\w*|numer\w+)"
    r"(?: ?(?:de|do|da|d|que|ficam?|tem|est[aá]o?|t[aáã]o?|l[aá]|n[oa]|com|[34]|tr[eê]s|quatro|d[ií]gitos|n[uú]meros"
    r"|[uú]ltimos|finais|cart[aã]o)"
    rf"{_END}){{0,6}} ?(?:(?:tr[aá]s|atr[aá][sz]|verso)(?! d[aeo](?! (?:meu |seu )?cart))|seguran[cç]a|seg\.?"
    rf"|verifica(?:[cç][aã]o|dor(?:es)?))|c[oó]d(?:igo|\.)?{_OF_THE_CARD}|(?:tr[aá]s|atr[aá][sz]|verso){_OF_THE_CARD}"
    rf"|c[oó]d(?:igo|igozinho)? (?:de |com )?(?:3|tr[eê]s|4|quatro) (?:d[ií]gitos|n[uú]meros)){_END}"
)
_LABELLED: Final = re.compile(
    rf"{LABEL_START}{_LABEL}(?:{LEAD}|(?<!\[){_LABEL}|(?:cart[aã]o|verificador|(?<!\[)cvv|[34] d[ií]gitos|d[ií]gitos?"
    rf"|n[uú]meros?){_END}){{0,5}}{_CODE}"
)
_LAST_FOUR: Final = (
    r"(?:(?:final|fim|terminad[oa]|termina)(?: em| com)?|\*{2,}|x{3,}|\.{3}|(?:[uú]ltimos"
    r"|finais)(?: [^\W\d_]+){0,3}) ?\d{4}(?!\d)"
)
_ANYWHERE: Final = re.compile(
    rf"{LABEL_START}{_LABEL}(?:{_LAST_FOUR}|(?!{_OF_AN_ORDER})(?:[^\d\[$]|[34] ?(?:d[ií]g"
    rf"|n[uú]m))){{1,60}}?(?<![^\W_])(?!20\d\d){_CODE}(?![ -]\d)"
)
_MONTH: Final = r"(?:0?[1-9]|1[0-2]) ?[/.|-]? ?(?:20)?\d\d"
_VALID: Final = r"(?:val(?:idade|\.)?|v[aá]lid[oa]|venc(?:imento|e|\.)?|exp\.?)[ :.]{0,2}(?:at[eé] |em )?"
_CARD: Final = rf"(?:\[cartao\]|{_LAST_FOUR})"
_NAMED: Final = rf"(?:(?:(?!{_OF_AN_ORDER})[^\W\d]+[ ,]{{1,2}}){{1,5}}(?=\d{{3,4}}(?:[;,.)\n]|\Z)))"
_BEHIND_A_CARD: Final = re.compile(
    rf"(?:{_CARD}(?:[ ,;/|.\n(-]{{1,3}}(?!{_OF_AN_ORDER})[^\W\d_]{{1,15}}(?=[^\d\n]{{1,50}}\d\d?[/.])){{0,4}}[ ,;/"
    rf"|.\n(-]{{1,3}}(?:(?:com |de "
    rf"|e )?(?:{_VALID})?{_MONTH}[ ,;/|.\n(-]{{1,3}})|\[cartao\][ ,;/|.\n(-]{{1,3}}(?=\d{{3}}(?:[;,.)\n]|\Z))"
    rf"|(?:cart[aã]o|cr[eé]dito|d[eé]bito|visa|master\w*|titular|cvv){_END}[^\d\n]{{0,40}}?{_VALID}{_MONTH}[ ,;/"
    rf"|.\n-]{{1,3}})(?:e )?(?:(?:c[oó]d(?:igo|\.)?|seg(?:uran[cç]a|\.)?)[ :]{{1,2}})?{_NAMED}?{_CODE}"
)
_NAMED_BEHIND_A_CARD: Final = re.compile(
    rf"{_CARD}(?:(?!{_OF_AN_ORDER})[^\[]){{0,80}}?(?<![^\W_])"
    r"(?:c[oó]d\w*\.?|seg(?:uran[cç]a)?\.?|verso|tr[aá]s|atr[aá][sz]|cv\w{0,2}|(?:3|tr[eê]s) (?:d[ií]gitos|n[uú]meros))"
    rf"[^\w\n]{{1,4}}(?:(?:é|eh|e|do|de|o|verso|tr[aá]s|atr[aá][sz]|seguran[cç]a) ){{0,4}}{_CODE}"
)
_BEFORE_ITS_MONTH: Final = re.compile(
    rf"\[cartao\][ ,;/|.\n(-]{{1,3}}{_CODE}(?=[ ,;/|.\n-]{{1,3}}(?:{_VALID})?{_MONTH}(?!\d))"
)
_SECOND: Final = re.compile(rf"\[cvv\] (?:e|ou) {_CODE}")
_BEFORE_ITS_LABEL: Final = re.compile(
    rf"(?<![\w.,/-])(?<!r\$ )(?<!erro )(?<!(?:de|ou) ){_CODE}(?: ?[(\[=-] ?|,? (?=é|eh|s[aã]o|ess|est)| )"
    r"(?:(?:é|eh|s[aã]o|foi|fica|est[aá]|[oa]s?|d[eo]|n[oa]|meu|ess[ea]s?|est[ea]s?|tr[eê]s|3|que|n[uú]mero|campo"
    r"|como) ){0,6}"
    rf"{_LABEL}(?![ .:=nº°-]{{0,5}}\d)"
)


def _find(match: re.Match[str]) -> Span | None:
    return match.span("value")


_CUES: Final = ("cv", "c.v", "cc.", "c.c", "csc", "security", "seg", "verif", "verso", "trás", "tras", "gito", "cart")
_CUES_OF_A_CARD: Final = ("[cartao]", "final", "fim", "terminad", "**", "val", "venc", "exp", "válid")
SEARCHES: Final[tuple[Search, ...]] = (
    Search("CVV", _LABELLED, _find, _CUES),
    Search("CVV", _ANYWHERE, _find, _CUES),
    Search("CVV", _BEHIND_A_CARD, _find, _CUES_OF_A_CARD),
    Search("CVV", _NAMED_BEHIND_A_CARD, _find, _CUES_OF_A_CARD),
    Search("CVV", _BEFORE_ITS_MONTH, _find, ("[cartao]",)),
    Search("CVV", _SECOND, _find, ("[cvv]",)),
    Search("CVV", _BEFORE_ITS_LABEL, _find, _CUES),
)
