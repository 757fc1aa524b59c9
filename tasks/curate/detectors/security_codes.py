"""Security code of a card: three or four digits behind a word for it, or behind the card and its month of expiry."""

import re
from typing import Final

from tasks.curate.detectors.context import LABEL_START, LEAD, Search, Span

_CODE: Final = r"(?P<value>\d(?: ?[.-]? ?\d){2,3})(?![^\W_]|[.,/-]\d| ?%)"
_LABELLED: Final = re.compile(
    rf"{LABEL_START}(?:c\.?v\.?[vcn]\.?2?|c[oó]d(?:igo|\.)?(?: de)? (?:seguran[cç]a|seg\.?|verifica(?:[cç][aã]o|dor))"
    r"|(?:c[oó]digo|d[ií]gitos?|n[uú]meros?|numerozinhos?)(?: de)? (?:tr[aá]s|atr[aá]s|do verso)"
    r"|(?:tr[eê]s|3) (?:d[ií]gitos|n[uú]meros|[uú]ltimos n[uú]meros)(?: (?:de tr[aá]s|do verso|atr[aá]s|de seguran[cç]a))"
    rf")(?![^\W\d_])(?:{LEAD}|(?:cart[aã]o|verso|tr[aá]s|atr[aá]s|seguran[cç]a|c[oó]digo)(?![^\W\d_])){{0,4}}(?<![^\W_]){_CODE}"
)
_BEHIND_A_CARD: Final = re.compile(
    r"\[cartao\][ ,;/|.-]{1,3}(?:(?:val(?:idade|\.)?|venc(?:imento|e|\.)?|exp\.?)[ :.]{0,2})?(?:0?[1-9]|1[0-2]) ?[/-] ?(?:20)?\d\d"
    rf"[ ,;/|.-]{{1,3}}(?:e )?{_CODE}"
)


def _find(match: re.Match[str]) -> Span | None:
    return match.span("value")


SEARCHES: Final[tuple[Search, ...]] = (("CVV", _LABELLED, _find), ("CVV", _BEHIND_A_CARD, _find))
