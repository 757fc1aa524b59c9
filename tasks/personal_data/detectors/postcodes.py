"""CEP, which is 8 digits like many others: its label or an address tells it."""

import re
from typing import Final

from tasks.personal_data.detectors.context import EDGE, NEAR_AFTER, PLACEHOLDER, Around, Search, Span, digits_of

_ADDRESS_WINDOW: Final = 80
_CEP: Final = re.compile(rf"{EDGE}\d{{2}}\.?\d{{3}}[ .·•_-]{{0,3}}\d{{3}}(?!\d)")
_CEP_ALONE: Final = re.compile(r"\d{2}\.?\d{3}-\d{3}")
_CEP_IN_ADDRESS: Final = re.compile(r"\d{5} ?\d{3}|\d{2}\.?\d{3}-\d{3}")
_STREET: Final = re.compile(
    r"(?<![^\W\d_])(?:(?:r|al|p[cç]a)\.|(?:rua|av(?:enida)?|trav(?:essa)?|tv|alameda|rod(?:ovia)?|estr(?:ada)?|pra[cç]a"
    r"|largo|viela|quadra|qd|conjunto|cj|residencial|condom[ií]nio|bairro|jardim|jd|vila|vl|endere[cç]o"
    r"|logradouro|bloco"
    r"|apto)(?![^\W\d_]))"
)
_AS_IN_ADDRESS: Final = re.compile(
    r"[^\W_][ \t]*[,;\n/-][ \t]*\Z|(?:bairro|jardim|jd\.?|vila|vl\.?|cidade)(?: [^\W\d_]+){1,4} \Z"
)
_SENTENCE: Final = re.compile(r"[^\W\d_][^\n$]*[^\w\n$]\Z")
_PLACE_AFTER: Final = re.compile(
    r"[ \t]?[,;/\n-]?[ \t]?(?:"
    r"aracaju|bel[eé]m|belo horizonte|boa vista|bras[ií]lia|campinas|campo grande|contagem|cuiab[aá]|curitiba"
    r"|duque de caxias|feira de santana|florian[oó]polis|fortaleza|goi[aâ]nia|guarulhos|jo[aã]o pessoa|joinville"
    r"|juiz de fora|londrina|macap[aá]|macei[oó]|manaus|natal|niter[oó]i|nova igua[cç]u|osasco|palmas|porto alegre"
    r"|porto velho|recife|ribeir[aã]o preto|rio branco|rio de janeiro|salvador|santo andr[eé]|santos|s[aã]o bernardo"
    r"|s[aã]o gon[cç]alo|s[aã]o jos[eé]|s[aã]o lu[ií]s|s[aã]o paulo|sorocaba|teresina|uberl[aâ]ndia|vit[oó]ria"
    r"|minas gerais|paran[aá]|santa catarina|rio grande do (?:sul|norte)|bahia|pernambuco|cear[aá]|goi[aá]s"
    r"|distrito federal)(?![^\W\d_])"
    r"|(?: ?[/-] ?(?:rs|se|to)|,? ?[ ,/-] ?(?:a[clmp]|ba|ce|df|es|go|m[agst]|p[abeir]|r[jnor]|s[cp]))"
    r"[ \t]*(?=[,.;)\n]|\Z)"
)
"""Capitals, the other largest cities, states, and state codes at an end only: `se`, `to`, `rs` are words too."""


def _find_cep(match: re.Match[str]) -> Span | None:
    around = Around(match)
    if around.is_order or around.is_glued or digits_of(match[0]) < "01000000":
        return None
    if around.label == "CEP" and (around.leads or not match[0].isdigit()):
        return match.span()
    if around.is_alone and _CEP_ALONE.fullmatch(match[0]):
        return match.span()
    return match.span() if _is_in_address(match) and not (around.is_near and around.label != "CEP") else None


def _is_in_address(match: re.Match[str]) -> bool:
    """Return whether a number stands in a CEP's position: behind a street and a comma, or right before a city."""
    text, start = match.string, match.start()
    if not _CEP_IN_ADDRESS.fullmatch(match[0]) or NEAR_AFTER.match(text, match.end()):
        return False
    least = max(start - _ADDRESS_WINDOW, 0)
    for placeholder in PLACEHOLDER.finditer(text, max(least - 10, 0), start):
        least = placeholder.end()
    before = text[least:start]
    if _PLACE_AFTER.match(text, match.end()) and _SENTENCE.search(before):
        return True
    return _STREET.search(before) is not None and _AS_IN_ADDRESS.search(before) is not None


SEARCHES: Final[tuple[Search, ...]] = (Search("CEP", _CEP, _find_cep),)
