"""Random keys of PIX: a UUID, or its 32 hexadecimal digits, near a word that leads to it.

Orders and reviews have such identifiers too, so that one without such a word stays.
"""

import re
from typing import Final

from tasks.personal_data.detectors.context import LEADS, PLACEHOLDER, Search, Span

_BEFORE: Final = 150
_AFTER: Final = 30
_KEY: Final = re.compile(r"(?<![0-9a-z])[0-9a-f](?:[ \n_./:-]{0,3}[0-9a-f]){31}(?![0-9a-z])")
_CUE: Final = re.compile(
    r"(?<![^\W\d_])(?:(?P<KEY>(?:chave ?)?pix|evp|aleat[oó]ri[ao]s?|chave(?!s? (?:de acesso|de ativa|da nf|da nota"
    r"|de api|de licen|do produto))"
    r"|copia e cola)"
    r"|(?P<MONEY>estorn\w{0,5}|devolv\w{0,5}|devolu[cç][aã]o|reembols\w{0,4}|transf\w{0,9}|deposit\w{0,4}"
    r"|favorecid[oa]|nubank|banco"
    r"|conta)"
    r"|(?P<ORDER>pedidos?|order|protocolos?|id|uuid|ids|nota|danfe|rastreio|transa[cç][aã]o|chamado|ticket"
    r"|s[eé]rie|sess[aã]o"
    r"|cupom|voucher|hash|token|where|licen[cç]a|dispositivo))(?![^\W\d_])"
)


def _find(match: re.Match[str]) -> Span | None:
    text, start, end = match.string, match.start(), match.end()
    key = "".join(filter(str.isalnum, match[0]))
    if key.isalpha() or key.isdigit():
        return None
    least = max(start - _BEFORE, 0)
    for placeholder in PLACEHOLDER.finditer(text, max(least - 12, 0), start):
        least = placeholder.end()
    cues = list(_CUE.finditer(text, least, start))
    cue = cues[-1] if cues else None
    if cue is not None and cue.lastgroup == "ORDER" and not LEADS.fullmatch(text, cue.end(), start):
        # `a chave pix de quem fez o pedido é ...`: an order that does not lead to the key.
        cue = next((other for other in reversed(cues) if other.lastgroup == "KEY"), cue)
    if cue is None or cue.lastgroup == "MONEY":
        after = PLACEHOLDER.split(text[end : end + _AFTER])[0]
        later = _CUE.search(after)
        if later is not None and later.lastgroup == "KEY":
            return match.span()
    is_key = cue is not None and (cue.lastgroup == "KEY" or (cue.lastgroup == "MONEY" and not match[0].isalnum()))
    return match.span() if is_key else None


SEARCHES: Final[tuple[Search, ...]] = (Search("PIX", _KEY, _find),)
