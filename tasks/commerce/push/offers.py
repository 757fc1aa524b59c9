"""Offer check of a push: its campaign's offer is made, and no other.

An offer is parsed into its amounts with their units (`20%`, `R$ 25`, `10x`, items taken, items paid), its words, and
the words that distinguish it from other offers: its deadline, and the object of `sem`. Notations of an amount are
equal: `25 reais` and `R$ 25`, `20 por cento` and `20%`, `três` and `3`, `20% OFF` and a `desconto`.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.portuguese_numbers import numbers_of
from tasks.commerce.text.text_form import FUNCTION_WORDS, KEPT_PROMPTS, fold, share_present, stem, words

DATA_FILES: Final = ("data/lexicons/products.txt",)
Amount = tuple[float, str]
"""A number, and its unit."""

FALSE_OFFER: Final = 0.3
"""Share of the grade that an offer keeps if an amount, a deadline or a `sem` differs from the given one."""
_NUMBER_WORDS: Final = {
    word: str(number)
    for number, word in enumerate(
        ("dois", "tres", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez", "onze", "doze"), 2
    )
} | {"duas": "2"}
_UNITS: Final = {"%": "%", "x": "x", "vezes": "x", "reais": "r$"}
_TAKES_AND_PAYS: Final = {
    form: verb
    for verb, forms in {
        "leve": ("leve", "leva", "levando", "levar", "compre", "compra", "comprando"),
        "pague": ("pague", "paga", "pagando", "pagar"),
    }.items()
    for form in forms
}
_DEADLINES: Final = frozenset(
    ("hoje", "amanha", "noite", "semana", "domingo", "terca", "quarta", "quinta", "sexta", "sabado")
)
_DENIALS: Final = frozenset(("sem", "nenhum", "nenhuma", "nem", "nunca", "acabou", "acabaram", "terminou"))
_DENYING_VERBS: Final = frozenset(("tem", "ha", "temos", "vale", "existe", "oferecemos", "damos", "e", "sao", "da"))
_PASSED_OVER: Final = frozenset(
    (
        "nenhum",
        "nenhuma",
        "o",
        "a",
        "os",
        "as",
        "de",
        "do",
        "da",
        "seu",
        "qualquer",
        "mais",
        "um",
        "ate",
        "esse",
        "este",
    )
)
_JOINING: Final = frozenset(("em", "no", "na", "nos", "nas", "para", "com", "por", "tem", "a"))
# Words used for any product: the shopper's phone and trolley, a set or a box of something.
_ANY_PRODUCT: Final = frozenset(("jogos", "kits", "caixas", "potes", "carrinhos", "celulares", "agendas", "botas"))
_PRODUCTS: Final = frozenset(
    form
    for line in read_lexicon("products")
    for thing in fold(line).partition("= ")[2].split(", ")
    if (head := words(thing)[0]) not in _ANY_PRODUCT
    for form in (head, head.removesuffix("s"))
)
_BENEFITS: Final = {
    form: benefit
    for benefit, forms in {
        "gratis": ("gratis", "gratuito", "gratuita"),
        "cashback": ("cashback",),
        "brinde": ("brinde", "brindes"),
        "cupom": ("cupom", "cupons"),
        "juros": ("juros",),
        "desconto": ("desconto", "descontos", "off"),
        "metade": ("metade", "dobro"),
    }.items()
    for form in forms
}
"""Benefits that only an offer gives, by their words."""
_BENEFIT_WORDS: Final = frozenset(_BENEFITS)
_SUSPICIOUS: Final = _DENIALS | _PRODUCTS | {"nao", "cheio"}


@dataclass(frozen=True)
class Offer:
    """Offer of a campaign, parsed once for all answers to a prompt."""

    phrase: str
    """The given text, folded."""
    amounts: frozenset[Amount]
    labels: tuple[str, ...]
    """Its words with meaning."""
    deadline: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    """`sem`, and the word that it belongs to."""
    benefits: frozenset[str]
    suspicious: frozenset[str]
    """Words that may deny the offer, or attribute it to another product."""
    others: frozenset[str]
    """Other products."""


@lru_cache(maxsize=KEPT_PROMPTS)
def read_offer(offer: str, product: str) -> Offer:
    """Parse a campaign's offer."""
    spelled = spell_out(words(offer))
    own = {stem(word) for word in words(product)}
    others = frozenset(word for word in _PRODUCTS if stem(word) not in own)
    return Offer(
        fold(offer),
        frozenset(_amounts(spelled)),
        tuple(dict.fromkeys(word for word in spelled if word.isalpha() and word not in FUNCTION_WORDS | {"x"})),
        _DEADLINES & set(spelled),
        frozenset(pair for pair in pairwise(spelled) if pair[0] == "sem"),
        benefits_among(spelled),
        _SUSPICIOUS - set(words(offer)) - (_PRODUCTS - others),
        others,
    )


def spell_out(text_words: Sequence[str]) -> list[str]:
    """Return words with amounts in a uniform notation: the sign, then the number; `off` is a `desconto`."""
    spelled: list[str] = []
    for place, word in enumerate(text_words):
        if word == "off":
            spelled.append("desconto")
        elif word == "cento" and spelled[-1:] == ["por"]:
            spelled[-1] = "%"
        elif word == "um" and not _TAKES_AND_PAYS.keys().isdisjoint(text_words[max(place - 2, 0) : place]):
            spelled.append("1")
        else:
            spelled.append(_NUMBER_WORDS.get(word, word))
    return spelled


def _amounts(spelled: Sequence[str]) -> Iterable[Amount]:
    for place, word in enumerate(spelled):
        if word[0].isdigit():
            unit = _unit(spelled, place)
            yield from ((number, unit) for number in numbers_of(word))


def _unit(spelled: Sequence[str], place: int) -> str:
    after = spelled[place + 1] if place + 1 < len(spelled) else ""
    if after in _UNITS:
        return _UNITS[after]
    for word in reversed(spelled[max(place - 2, 0) : place]):
        if word == "r$" or word in _TAKES_AND_PAYS:
            return _TAKES_AND_PAYS.get(word, word)
    return ""


def benefits_among(text_words: Iterable[str]) -> frozenset[str]:
    """Return the benefits among words."""
    return frozenset(_BENEFITS[word] for word in _BENEFIT_WORDS.intersection(text_words))


def invented_benefits(present: AbstractSet[str], offer: Offer, given: AbstractSet[str]) -> int:
    """Count the invented benefits; a voucher counts as a discount, and so does paying for fewer items than taken."""
    named = benefits_among(present) - offer.benefits - given
    if "desconto" in named and (not offer.benefits.isdisjoint({"cupom", "metade"}) or "pague" in offer.labels):
        named -= {"desconto"}
    return len(named)


def grade_offer(offer: Offer, folded: str, text_words: Sequence[str], present: AbstractSet[str]) -> float:
    """Grade how truly folded words make an offer, in [0, 1]; one denied or for another product earns nothing."""
    if offer.phrase in folded and offer.suspicious.isdisjoint(present):
        return 1.0
    spelled = spell_out(text_words)
    if _denied(offer, spelled) or _of_another_product(offer, spelled):
        return 0.0
    found = set(spelled)
    true = offer.amounts <= set(_amounts(spelled)) and offer.deadline <= found and offer.pairs <= set(pairwise(spelled))
    return share_present(offer.labels, found) * (1.0 if true else FALSE_OFFER)


def _is_of(offer: Offer, word: str) -> bool:
    return word in offer.labels or (
        word[0].isdigit() and any(number in dict(offer.amounts) for number in numbers_of(word))
    )


def _denied(offer: Offer, spelled: Sequence[str]) -> bool:
    """Return whether a `sem`, a `não há` or the like stands right before the offer, or the price is the full one."""
    for place, word in enumerate(spelled):
        if word == "cheio" and spelled[place - 1] == "preco":
            return True
        start = place + 1
        if word == "nao" and spelled[start : start + 1] and spelled[start] in _DENYING_VERBS:
            start += 1
        elif word not in _DENIALS:
            continue
        rest = next((later for later in spelled[start:] if later not in _PASSED_OVER), "")
        if rest and _is_of(offer, rest) and (word, rest) not in offer.pairs:
            return True
    return False


def _of_another_product(offer: Offer, spelled: Sequence[str]) -> bool:
    """Return whether the offer is joined to another product, as in `livros com 20%`, `20% em livros`."""
    for place, word in enumerate(spelled):
        if word not in offer.others:
            continue
        before, after = spelled[max(place - 2, 0) : place], spelled[place + 1 : place + 4]
        if after and after[0] in _JOINING and any(_is_of(offer, near) for near in after[1:]):
            return True
        if len(before) == 2 and before[1] in _JOINING and _is_of(offer, before[0]):
            return True
    return False
