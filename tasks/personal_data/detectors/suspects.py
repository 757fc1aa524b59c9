"""Fast test of which texts may hold personal data: all that the detectors would change, and few others.

Every pattern is a wider form of a detector's: what it does not match, no detector reads. A detector that reads more
needs a wider pattern here; the tests compare the two.
"""

from typing import Final

import polars as pl

_NO_WIDTH: Final = r"[\p{Mn}\p{Me}\p{Cf}]+"
_ALONE: Final = (
    r"\p{Nd}(?:[ ().+\p{Pd}]{0,3}[\p{Nd}oilzb]){7}|\p{Nd}(?:(?:[\p{Zs}\p{Pd}\x{2212}\t.,;:·•*~=\\/_()\[\]+]*"
    r"|\p{Zs}(?:ponto|tra[cç]o|h[ií]fen|barra)\p{Zs})\p{Nd}){7}"
    # addresses
    r"|@|\x{fe6b}|a ?rr?[ou]{1,2}b|arrb|g ?mail|(?:hot|zip) ?mail|out ?look|i ?cloud|yahoo|(?:ig|oi"
    r"|r7)\W{0,3}(?:ponto\W)?com|(?-u:\b)(?:uol|bol|terra|live|msn|globo|icloud|proton)(?-u:\b)|e-?mail"
    r"|[(\[{<]\s?a(?:t|rr)?\s?[)\]}>]|(?:^|[^\p{L}\p{Nd}])at(?:$|[^\p{L}\p{Nd}])|#\p{L}"
    r"|://|www\.|\.[a-z]{2,6}(?::\p{Nd}{2,5})?[/?#]"
    # a CNPJ with letters
    r"|cnpj|[a-z\p{Nd}]{8}0001\p{Nd}{2}"
    r"|[a-z\p{Nd}]{3}\p{Zs}?/\p{Zs}?[a-z\p{Nd}]{4}[\p{Zs}./\p{Pd}\x{2212}]{0,3}\p{Nd}{2}"
    r"|[a-z\p{Nd}]{3}[\p{Zs}./\p{Pd}\x{2212}]{0,3}\p{Nd}{4}[\p{Zs}./\p{Pd}\x{2212}]{0,3}\p{Nd}{2}"
    # full-width letters and digits
    r"|[\x{ff01}-\x{ff5e}]"
)
_LABELS: Final = (
    r"(?-u:\b)r\.?g(?-u:\b)|(?-u:\b)r\.?g\p{Nd}|identidade|(?-u:\b)ident\.|registro geral"
    r"|(?-u:\b)c\.i\.?[:.º\s]{1,3}\p{Nd}"
    r"|(?-u:\b)c\.?e\.?p(?:(?-u:\b)|\p{Nd}|_)|postal|cv[vcn]|c\.v|ccv|(?-u:\b)c\.c\.?v|security code"
    r"|(?:c[oó]d\w*|gitos?|n[uú]m\w*|inhos?|n[º°])\W.*(?:tr[aá][sz]|seg|verso|verifica)|verificador|\[cartao\]"
    r"|\[cvv\]|csc|de\str[aá][sz]|(?:3|tr[eê]s)\sd[ií]gitos"
    r"|(?:tr[aá][sz]|verso)\sd[oe]\s(?:\w+\s)?(?:cart|cr[eé]d)|(?:final|fim|terminad[oa](?:\sem)?|\*\*|xxx"
    r"|\.{3})\s?\p{Nd}{4}|(?:v[aá]l|venc|exp)[^\n]{0,20}\p{Nd}{1,2}\s?[/.|-]\s?\p{Nd}{2}"
    r"|c[oó]d(?:igo(?:zinho)?)?\.?\s?(?:d[eo]\s)?(?:cart|seg|verif|verso|\p{Nd}|tr[eê]s|quatro)|pla[ck]a|plca"
    r"|nas?c|aniv|(?-u:\b)niver|natal[ií]cio|(?-u:\b)dob|(?-u:\b)d\.?\p{Zs}?/?n(?-u:\b)"
    r"|(?-u:\b)bday|(?:\p{Nd}|fa[cç]o|faz|fez|fazer|fiz|complet\w+)\p{Zs}(?:\p{Nd}{2}\p{Zs}|an(?:o|os|inhos?)(?-u:\b))"
)
_DATE: Final = (
    r"\p{Nd}[^\p{L}\p{Nd}]{1,3}(?:d[eo]\s(?:m[eê]s\s(?:de\s)?)?)?\p{Nd}{1,2}[^\p{L}\p{Nd}]{1,3}(?:d[eo]\s(?:ano\s(?:de\s)?)?)?\p{Nd}{2}"
    r"|(?:\p{Nd}[º°o]?(?:\sdias)?|primeiro|um|dois|tr[eê]s|quatro|cinco|seis|sete|oito|nove|dez\w*|onze|doze|treze"
    r"|torze|quinze|vinte|trinta)"
    r"[^\p{L}\p{Nd}]{1,3}(?:d[eo]\s)?(?:jan|fev|mar|abr|mai|jun|jul|ago|set|out|nov|dez)\p{L}*[^\p{L}\p{Nd}]{1,3}"
    r"(?:d[eo]\s(?:ano\s(?:de\s)?)?)?(?:\p{Nd}{2}|mil|dois\smil|\p{L}{2,7}nta)"
    r"|(?:jan|fev|mar|abr|mai|jun|jul|ago|set|out|nov|dez)\p{L}*\sde\s(?:19|200)"
)
_NETWORK: Final = (
    r"insta(?:gram|(?-u:\b)|_)|i[ns]{1,2}tr?agr?a[mn]|(?-u:\b)(?:fb|tt|psn|steam)(?-u:\b)|gamertag|roblox|twitch"
    r"|pinterest|onlyfans|badoo"
    r"|tinder|youtube|bluesky|📷|📸|(?:(?-u:\b)me\s(?:add?|segu|cham|adicion|ach|procur|mand|marc)"
    r"|(?:segu|sig|procur|busc)\w*\s(?:l[aá]|n?o|por|pelo)\s).*[a-z\p{Nd}][._\p{Nd}]|(?-u:\b)ig(?:(?-u:\b)|_)"
    r"|tik\s?tok|twitter|telegram|(?-u:\b)face(?:book|(?-u:\b)|_)|threads|kwai"
    r"|nick|apelido|login|xbox|username|(?-u:\b)(?:user|dm|direct|perfil)(?-u:\b)|usu[aá]rio"
    r"|(?-u:\b)snap(?:chat|(?-u:\b)|_)|discord|skype|linkedin"
)
_PLATE: Final = r"[a-z]{3}[\p{Zs}.·•\p{Pd}\x{2212}]{0,3}\p{Nd}[a-z\p{Nd}]\p{Nd}{2}"
_KEY: Final = r"(?:[a-f\p{Nd}][\p{Zs}\p{Pd}\x{2212}_./:]*){32}"
_HOST: Final = (
    r"(?:insta|face|(?-u:\b)fb|telegram|tiktok|twitter|threads|linked|kwai|snap|linktr|pinter|youtube|whats"
    r"|discord|github|about|reddit|bsky|picpay|(?-u:\b)(?:t|m|x|wa|ig)(?:\p{Zs}?\.|\p{Zs}?\(\.\)|\p{Zs}ponto))"
    r"[^\n]{0,40}?(?:[/\\]|\p{Zs}barra\p{Zs})|/@"
)
_DIGIT_WORD: Final = (
    r"(?:zero|hum|uma?|dois|duas|tr[eê]s|quatro|cinco|seis|meia|sete|oito|nove|dez|onze|doze|treze|[cq]u?atorze|quinze"
    r"|dezesseis|dezessete|dezoito|dezenove|vinte|trinta|quarenta|cinquenta|sessenta|setenta|oitenta|noventa"
    r"|cento|duzentos|trezentos|quatrocentos|quinhentos|seiscentos|setecentos|oitocentos|novecentos|mil)"
)
_SPELLED: Final = rf"(?:^|[^\p{{L}}]){_DIGIT_WORD}(?:[^\p{{L}}]|e|tra[cç]o|ponto|h[ií]fen|ddd){{1,24}}?{_DIGIT_WORD}"
_PATTERNS: Final = (
    f"(?i){_ALONE}",
    f"(?i){_LABELS}",
    f"(?i){_NETWORK}|{_PLATE}",
    f"(?i){_KEY}|{_DATE}",
    f"(?i){_HOST}",
    f"(?i){_SPELLED}",
)
"""Apart, since one automaton of all of them would be too large to be kept."""


def may_hold_personal_data(column: str) -> pl.Expr:
    """Mark, by a fast test, the texts that may hold personal data: all that `scrub` would change, and few others."""
    text = pl.col(column).str.replace_all(_NO_WIDTH, "")
    return pl.any_horizontal([text.str.contains(pattern) for pattern in _PATTERNS])
