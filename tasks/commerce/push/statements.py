"""Closed world of a push: what it may say, and what each statement beyond that costs.

A push may say its product, its offer, its audience, and the few hundred words and phrases of `data/lexicons/push_words`
and `push_phrases`, which promise nothing. A claim that a customer could rely on (a benefit, an amount, a date, a stock,
an effect, another product), or a denial of the offer, costs at once; an unknown word costs little, and several much.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tasks.commerce.push.notation import CLAIM, DENIAL, PART, uniform
from tasks.commerce.push.offers import Amount, Offer, invented_amounts, read_offer
from tasks.commerce.push.senses import address_of, products, sense_of
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.portuguese_numbers import numbers_among
from tasks.commerce.text.text_form import KEPT_PROMPTS, content_words, fold, words
from tasks.commerce.text.vocabulary import CLOSED_CLASS, Vocabulary, root, roots

CLAIMED: Final = 0.45
"""Share of the reward that each claim leaves."""
DENIED: Final = 0.3
UNKNOWN: Final = (1.0, 0.88, 0.55, 0.35, 0.2, 0.1)
"""Shares that so many unknown words leave; more leave the last."""
AUDIENCE: Final = "Público: "

_VOCABULARY: Final = Vocabulary("push_words", "calls_to_action")
_DENIALS: Final = frozenset(fold(word) for word in read_lexicon("push_denials") if " " not in word)
_CLAIMS: Final = frozenset(fold(word) for word in read_lexicon("push_claims") if " " not in word) | _DENIALS
_PRODUCTS: Final = frozenset(word for word in products() if word not in _VOCABULARY)
_PLAIN: Final = (
    frozenset(fold(word) for lexicon in ("push_words", "calls_to_action") for word in read_lexicon(lexicon))
    | CLOSED_CLASS
) - _CLAIMS
_SIGNS: Final = (PART, CLAIM, DENIAL)


@dataclass(frozen=True)
class Campaign:
    """What a push must and may say, parsed once for all answers to a prompt."""

    product: tuple[str, ...]
    offer: Offer
    offer_words: tuple[str, ...]
    """The offer's words, signs and numbers."""
    given: frozenset[float]
    """Numbers of product, offer and audience."""
    allowed: frozenset[str]
    """Words of product, offer and audience, and words that say the offer."""
    roots: frozenset[str]
    """Roots of the allowed words, and of those that fit product and audience."""
    sense: frozenset[str]
    """Roots of words that fit the product alone."""
    address: frozenset[str]
    """Roots of words that speak to the audience."""
    segment: str
    """The audience as the prompt has it, folded."""


@lru_cache(maxsize=KEPT_PROMPTS)
def read_campaign(product: str | None, offer: str | None, prompt: str = "") -> Campaign:
    """Return what a push of a campaign must and may say.

    Args:
        product: None if unknown.
        offer: None if unknown.
        prompt: Its lines with a label add to what a push may say.
    """
    lines = [line for line in prompt.split("\n")[1:] if ": " in line]
    segment = next((line.removeprefix(AUDIENCE) for line in lines if line.startswith(AUDIENCE)), "")
    said = [line.partition(": ")[2] for line in lines] + [product or "", offer or ""]
    spelled = [word for text in said for word in uniform(words(text))]
    parsed = read_offer(offer or "")
    own = parsed.allowed | frozenset(spelled) | frozenset(word for text in said for word in words(text))
    sense, address = sense_of(product or ""), address_of(segment)
    return Campaign(
        product=tuple(content_words(product or "")),
        offer=parsed,
        offer_words=tuple(content_words(offer or "")),
        given=frozenset(numbers_among(spelled)),
        allowed=own | sense | address,
        roots=roots((own | sense | address) - CLOSED_CLASS),
        sense=roots(sense) - roots(own),
        address=roots(address),
        segment=fold(segment),
    )


def grade_statements(campaign: Campaign, spelled: Sequence[str], amounts: frozenset[Amount] | set[Amount]) -> float:
    """Grade what is said beyond product, offer, audience and harmless words, in [0, 1]: 1 if nothing is."""
    claims = invented_amounts(campaign.offer, amounts, campaign.given) if amounts else 0
    denials = unknown = 0
    for word in set(spelled) - _PLAIN - campaign.allowed:
        if word[0] in _SIGNS:
            if word[0] == DENIAL:
                denials += 1
            else:
                claims += 1
        elif word in _CLAIMS:
            if word in _DENIALS:
                denials += 1
            else:
                claims += 1
        elif not word.isalpha() or root(word) in campaign.roots:
            continue
        elif word in _PRODUCTS:
            claims += 1
        elif word not in _VOCABULARY:
            unknown += 1
    return CLAIMED**claims * DENIED**denials * UNKNOWN[min(unknown, len(UNKNOWN) - 1)]


def speaks(campaign: Campaign, folded: str, spelled: Sequence[str]) -> float:
    """Return whether words fit this product or speak to this audience; who quotes the audience's line addresses nobody."""
    theirs = frozenset(map(root, spelled))
    if not theirs.isdisjoint(campaign.sense):
        return 1.0
    return float(not theirs.isdisjoint(campaign.address) and campaign.segment not in folded)
