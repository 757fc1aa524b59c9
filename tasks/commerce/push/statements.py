"""Closed world of a push: what it may say, and what each statement beyond that costs.

A push may say its product, its offer, its audience, and the few hundred words and phrases of `data/lexicons/push_words`
and `push_phrases`, which promise nothing. A claim that a customer could rely on (a benefit, an amount, a date, a stock,
an effect, another product), or a denial of the offer, costs at once; an unknown word costs little, and several much.
"""

from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final, NamedTuple

from tasks.commerce.push.notation import CLAIM, DENIAL, PART, uniform
from tasks.commerce.push.offers import Amount, Offer, invented_amounts, read_offer
from tasks.commerce.push.senses import address_of, any_sense, product_stems, sense_of
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.portuguese_numbers import numbers_among
from tasks.commerce.text.text_form import KEPT_PROMPTS, content_words, fold, ramp, stem, words
from tasks.commerce.text.vocabulary import CLOSED_CLASS, Vocabulary, root, roots

DATA_FILES: Final = (
    "data/lexicons/calls_to_action.txt",
    "data/lexicons/push_claims.txt",
    "data/lexicons/push_denials.txt",
    "data/lexicons/push_words.txt",
)
CLAIMED: Final = 0.45
"""Share of the reward that each claim leaves."""
DENIED: Final = 0.3
ASTRAY: Final = 3
"""Words of other products, beyond those of its own, with which a push speaks of none."""
UNKNOWN: Final = (1.0, 0.9, 0.55, 0.35, 0.2, 0.1)
"""Shares that so many unknown words leave; more leave the last."""

_VOCABULARY: Final = Vocabulary("push_words", "calls_to_action")
_DENIALS: Final = frozenset(fold(word) for word in read_lexicon("push_denials") if " " not in word)
_CLAIMS: Final = frozenset(fold(word) for word in read_lexicon("push_claims") if " " not in word) | _DENIALS
_PLAIN: Final = (
    frozenset(fold(word) for lexicon in ("push_words", "calls_to_action") for word in read_lexicon(lexicon))
    | CLOSED_CLASS
) - _CLAIMS
_PRODUCTS: Final = product_stems()
_SHOPPER: Final = frozenset(("amei", "adorei", "gostei", "sonhei", "sei", "rei", "hei", "ei"))
"""Words in `ei` that are no verb of who wrote the text, as `usei` is; a shop speaks as `nós`."""
_ANY_SENSE: Final = any_sense()
_SIGNS: Final = (PART, CLAIM, DENIAL)


class Sayable(NamedTuple):
    """Words that one line of a campaign lets a push say."""

    words: frozenset[str]
    roots: frozenset[str]
    numbers: frozenset[float]
    apt: frozenset[str]
    """Roots of the words that fit the line without being its own."""


class Campaign(NamedTuple):
    """What a push must and may say, parsed once for all answers to a prompt."""

    product: tuple[str, ...]
    offer: Offer
    offer_words: tuple[str, ...]
    """The offer's words, signs and numbers."""
    of_product: Sayable
    of_offer: Sayable
    of_audience: Sayable
    segment: str
    """The audience as the prompt has it, folded."""


def _sayable(line: str, more: frozenset[str], apt: frozenset[str]) -> Sayable:
    read = words(line)
    own = more.union(read, uniform(read))
    own_roots = roots(own - CLOSED_CLASS)
    apt_roots = roots(apt - CLOSED_CLASS)
    numbers = frozenset(numbers_among(uniform(read)))
    return Sayable(own | apt, own_roots | apt_roots, numbers, apt_roots - own_roots)


# A campaign's lines are few, and meet in many prompts.
@lru_cache(maxsize=KEPT_PROMPTS)
def _product(product: str) -> Sayable:
    return _sayable(product, frozenset(), sense_of(product))


@lru_cache(maxsize=KEPT_PROMPTS)
def _offer(offer: str) -> Sayable:
    return _sayable(offer, read_offer(offer).allowed, frozenset())


@lru_cache(maxsize=KEPT_PROMPTS)
def _audience(segment: str) -> Sayable:
    address = address_of(segment)
    read = words(segment)
    return Sayable(
        address.union(read), _roots(address).union(map(root, read)), frozenset(numbers_among(read)), _roots(address)
    )


@lru_cache(maxsize=KEPT_PROMPTS)
def _roots(address: frozenset[str]) -> frozenset[str]:
    return roots(address)


@lru_cache(maxsize=KEPT_PROMPTS)
def _content(line: str) -> tuple[str, ...]:
    return tuple(content_words(line))


@lru_cache(maxsize=KEPT_PROMPTS)
def read_campaign(product: str | None, offer: str | None, prompt: str = "") -> Campaign:
    """Return what a push of a campaign must and may say.

    Args:
        product: None if unknown: then the prompt's line says what a push may say.
        offer: None if unknown, likewise.
        prompt: The prompt, whose lines have labels.
    """
    segment = _line(prompt, "Público: ")
    said_product = _line(prompt, "Produto: ") if product is None else product
    said_offer = _line(prompt, "Oferta: ") if offer is None else offer
    return Campaign(
        product=_content(product or ""),
        offer=read_offer(said_offer),
        offer_words=_content(offer or ""),
        of_product=_product(said_product),
        of_offer=_offer(said_offer),
        of_audience=_audience(segment),
        segment=fold(segment),
    )


def _line(prompt: str, label: str) -> str:
    start = prompt.find(f"\n{label}") + 1
    return prompt[start + len(label) :].split("\n", 1)[0] if start else ""


def grade_statements(campaign: Campaign, said: AbstractSet[str], amounts: AbstractSet[Amount]) -> float:
    """Grade what is said beyond product, offer, audience and harmless words, in [0, 1]: 1 if nothing is.

    Args:
        campaign: Of the prompt.
        said: The push's words in uniform notation.
        amounts: The amounts among them.
    """
    product, offer, audience = campaign.of_product, campaign.of_offer, campaign.of_audience
    claims = denials = unknown = 0
    if not amounts <= campaign.offer.amounts:
        claims = invented_amounts(campaign.offer, amounts, product.numbers | offer.numbers | audience.numbers)
    for word in said - _PLAIN - offer.words - product.words - audience.words:
        sign = word[0]
        if sign == DENIAL or word in _DENIALS:
            denials += 1
        elif sign in _SIGNS or word in _CLAIMS or (word[-2:] == "ei" and word not in _SHOPPER):
            claims += 1
        elif word.isalpha():
            own = root(word)
            if own in product.roots or own in offer.roots or own in audience.roots:
                continue
            if stem(word) in _PRODUCTS:
                claims += 1
            elif word not in _VOCABULARY:
                unknown += 1
    return CLAIMED**claims * DENIED**denials * UNKNOWN[min(unknown, len(UNKNOWN) - 1)]


def speaks(campaign: Campaign, folded: str, said: AbstractSet[str]) -> float:
    """Grade whether words fit this product or speak to this audience, in [0, 1].

    Words that fit other products alone count against it: a form that names an occasion for each fits none. Who quotes
    the audience's line addresses nobody.
    """
    theirs = set(map(root, said - CLOSED_CLASS))
    apt = len(theirs & campaign.of_product.apt)
    if not apt and (theirs.isdisjoint(campaign.of_audience.apt) or campaign.segment in folded):
        return 0.0
    astray = len(roots(said & _ANY_SENSE) - campaign.of_product.roots - campaign.of_audience.roots)
    apt = max(apt, 1)
    return ramp(astray, apt + ASTRAY, apt)
