"""Security code of a card: three or four digits behind a word for it, or behind the card and its month of expiry."""

import re
from typing import Final

from tasks.curate.detectors.context import AFTERWARDS, LABEL_START, LEAD, Search, Span

_UNIT: Final = "(?:zero|uma?|dois|duas|tr[eê]s|quatro|cinco|seis|meia|sete|oito|nove)"
_CODE: Final = (
    rf"(?P<value>\d(?: ?[.-]? ?\d){{2,3}}|{_UNIT}(?:[ ,.-]{{1,2}}{_UNIT}){{2,3}})(?![^\W_]|[.,/-]\d| ?%"
    r"| (?:dias?|reais|vezes|pe[cç]as|unidades|clientes|passos|graus|watts|volts|cilindradas|motor)"
    r"| ?(?:k?g|m?l|[ckm]?m|[gmt]b|[vw]|hp)(?![^\W_]))"
)
_OF_AN_ORDER: Final = (
    r"(?<![^\W_])(?:pedid|compr[aeo]|nota|protoc|produt|c[oó]d\w* d|valor|total|pre[cç]o|pag[oua]|parcel|vez|frete"
    r"|erro|recusa|inv[aá]l|dia |quant|seguro|loja|viage|modelo|voo|sa[ií]da|cupom"
    r"|boleto|tela|desde|final|m[aá]quina|tent[eo])"
)
"""Beginnings of words behind which a number is an order's, a sum or a message's."""
_END: Final = r"(?![^\W\d_])"
_CARD_WORD: Final = (
    rf"(?:cart[aã]o|verso|tr[aá]s|atr[aá]s|seguran[cç]a|seg\.?|c[oó]d(?:igo|\.)?|verificador(?:es)?|(?<!\[)cvv"
    rf"|d[ií]gitos?|n[uú]meros?)"
    rf"{_END}"
)
_LABELLED: Final = re.compile(
    rf"{LABEL_START}(?:c\.?v\.?[vcn]\.?2?|c\.?c\.?v\.?2?|c\.?s\.?c\.?(?= ?[:=é])|security code"
    r"|c[oó]d(?:igo|\.)?(?: de| do)?(?: cart[aã]o de)? ?(?:seguran[cç]a|seg\.?|verifica(?:[cç][aã]o|dor)|verso"
    r"|cart[aã]o)"
    r"|(?:c[oó]digo|c[oó]d\.?|d[ií]gitos?|n[uú]meros?|numerozinhos?|n[uú]merozinhos?)(?: que (?:fica|ficam|tem"
    r"|est[aá]|est[aã]o|t[aá]))?"
    r"(?: de| do| l[aá])? ?(?:tr[aá]s|atr[aá]s|verso|seguran[cç]a)"
    r"|c[oó]d(?:igo|igozinho) de (?:3|tr[eê]s|4|quatro) (?:d[ií]gitos|n[uú]meros))"
    rf"{_END}(?:{LEAD}|{_CARD_WORD}){{0,5}}{_CODE}"
)
_EXPIRY: Final = (
    r"(?:(?:com |de |e )?(?:val(?:idade|\.)?|v[aá]lido|venc(?:imento|e|\.)?|exp\.?)[ :.]{0,2}(?:at[eé] |em )?)?"
    r"(?:0?[1-9]|1[0-2]) ?[/.-]? ?(?:20)?\d\d"
)
_BEHIND_A_CARD: Final = re.compile(
    rf"\[cartao\][ ,;/|.\n-]{{1,3}}(?:{_EXPIRY}[ ,;/|.\n-]{{1,3}}|(?=\d{{3}}(?:[;,.)\n]|\Z)))(?:e |c[oó]d(?:igo"
    rf"|\.)? )?(?:(?:(?!{_OF_AN_ORDER})[^\W\d]+[ ,]{{1,2}}){{1,5}}(?=\d{{3,4}}(?:[;,.)\n]|\Z)))?{_CODE}"
)
_ANYWHERE: Final = re.compile(
    rf"{LABEL_START}c\.?v\.?v2?{_END}(?:(?!{_OF_AN_ORDER})[^\d\n\[$;?!]){{1,40}}(?<![^\W_])(?!20\d\d){_CODE}(?![ -]\d)"
)
_NAMED_BEHIND_A_CARD: Final = re.compile(
    rf"\[cartao\](?:(?!{_OF_AN_ORDER})[^\[]){{0,80}}?(?<![^\W_])"
    r"(?:c[oó]d\w*\.?|seg(?:uran[cç]a)?\.?|verso|tr[aá]s|atr[aá]s|cv\w{0,2})"
    rf"[^\w\n]{{1,4}}(?:(?:é|eh|e|do|de|o|verso|tr[aá]s|atr[aá]s|seguran[cç]a) ){{0,4}}{_CODE}"
)
_BEFORE_ITS_LABEL: Final = re.compile(
    rf"(?<![\w.,/-]){_CODE}{AFTERWARDS}(?:cv[vc]2?|c[oó]digo de seguran[cç]a|c[oó]digo do (?:verso|cart[aã]o)){_END}"
    r"(?![ .:=nº°-]{0,5}\d)"
)


def _find(match: re.Match[str]) -> Span | None:
    return match.span("value")


_CUES: Final = (
    "cv",
    "c.v",
    "cc.",
    "c.c",
    "security",
    "seg",
    "verifica",
    "verso",
    "trás",
    "tras",
    "cart",
    "gito",
    "mero",
)
SEARCHES: Final[tuple[Search, ...]] = (
    Search("CVV", _LABELLED, _find, _CUES),
    Search("CVV", _ANYWHERE, _find, ("cv", "c.v")),
    Search("CVV", _BEHIND_A_CARD, _find, ("[cartao]",)),
    Search("CVV", _NAMED_BEHIND_A_CARD, _find, ("[cartao]",)),
    Search("CVV", _BEFORE_ITS_LABEL, _find, _CUES),
)
