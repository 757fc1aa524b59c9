"""Independent offer check for the metric: its own patterns, not used by the reward."""

import re
from functools import lru_cache
from typing import Final

from tasks.commerce.text.text_form import KEPT_PROMPTS, content_words, fold

_WORDS: Final = ("", "um", "dois", "tres", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez", "onze", "doze")
_WAYS: Final = (
    (r"(\d+)%", r"\b{n}(?:,0+)? ?(?:%|por cento)"),
    (r"r\$ (\d+)", r"r\$ ?{n}(?:,00)?\b|\b{n} reais"),
    (r"(\d+)x", r"\b{n} ?(?:x\b|vezes)"),
    (r"leve (\d+)", r"\b(?:lev|compr)\w+ (?:so |os |as )?{n}\b"),
    (r"pague (\d+)", r"\bpag\w+ (?:so |apenas )?{n}\b"),
    (r"ultimas (\d+)", r"\bultim\w+ {n}\b"),
    ("sem juros", r"\bsem (?:nenhum )?juros"),
    ("desconto", r"\bdescontos?\b|\boff\b"),
    ("frete gratis", r"\bfrete (?:e )?(?:gratis|gratuito)"),
    ("acima de", r"\bacima d|\ba partir d"),
    ("hoje", r"\bhoje\b"),
    ("ate domingo", r"\bdomingo\b"),
    ("meia-noite", r"\bmeia[- ]noite\b"),
    ("fim de semana", r"\b(?:fim|final) de semana\b"),
)
"""Patterns for the parts of an offer, and their notations in a push."""
_DENIED: Final = re.compile(
    r"\b(?:sem|nenhum\w*|nem|nao (?:tem|ha|temos|vale|e)|acabou) (?:nenhum |o |os |um )?"
    r"(?:desconto|cashback|cupom|brinde|frete|leve|\d+ ?%|r\$)|\bpreco cheio|\bcom juros"
)


def makes_offer(text: str, offer: str) -> bool:
    """Return whether a text contains all parts of an offer, and does not deny it."""
    folded = fold(text)
    return not _DENIED.search(folded) and all(pattern.search(folded) for pattern in _patterns(offer))


@lru_cache(maxsize=KEPT_PROMPTS)
def _patterns(offer: str) -> tuple[re.Pattern[str], ...]:
    rest = fold(offer)
    patterns = []
    for said, way in _WAYS:
        patterns += [
            re.compile(way.replace("{n}", _either(match)) if match.isdigit() else way)
            for match in re.findall(said, rest)
        ]
        rest = re.sub(said, " ", rest)
    # Parts without a pattern must occur literally.
    return (*patterns, *(re.compile(rf"\b{re.escape(word)}") for word in content_words(rest) if word.isalpha()))


def _either(number: str) -> str:
    spelled = _WORDS[int(number)] if int(number) < len(_WORDS) else ""
    return f"(?:{number}|{spelled})" if spelled else number
