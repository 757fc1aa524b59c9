"""Lines of a campaign: what its product, offer and audience let a push say."""

from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Final, NamedTuple

from tasks.commerce.push.notation import PART, uniform
from tasks.commerce.push.offers import Offer, read_offer
from tasks.commerce.push.senses import ANY_PRODUCT, address_of, sense_of
from tasks.commerce.push.synonyms import names_of
from tasks.commerce.push.word_kinds import kind_of
from tasks.commerce.text.portuguese_numbers import numbers_among
from tasks.commerce.text.remembered import Remembered
from tasks.commerce.text.text_form import KEPT_PROMPTS, content_words, fold, words
from tasks.commerce.text.vocabulary import CLOSED_CLASS, root, roots

_HEADS: Final = frozenset(("aparelhos", "artigos", "itens", "produtos"))
"""Heads of a product's name that people leave out: `ar-condicionado` is what they call it."""


class Sayable(NamedTuple):
    """Words that one line of a campaign lets a push say."""

    words: frozenset[str]
    roots: frozenset[str]
    numbers: frozenset[float]
    apt: frozenset[str]
    """Roots of the words that fit the line without being its own."""
    about: frozenset[str]
    """The words and the roots."""


@dataclass(frozen=True)
class Campaign:
    """What a push must and may say, parsed once for all answers to a prompt."""

    product: tuple[str, ...]
    offer: Offer
    offer_words: tuple[str, ...]
    """The offer's words, signs and numbers."""
    made: frozenset[str]
    """The parts and numbers of the offer, in uniform notation."""
    named: frozenset[str]
    """What names the product: its head, in any form, and its other names."""
    line: frozenset[str]
    """The product's words."""
    of_product: Sayable
    of_offer: Sayable
    of_audience: Sayable
    segment: str
    """The audience as the prompt has it, folded."""

    @cached_property
    def kinds(self) -> Remembered[int]:
        """The flags of words in uniform notation, each found once for all answers."""
        return Remembered(partial(kind_of, self))

    def fits(self, word: str) -> bool:
        """Return whether a word is said by a line of the campaign, or fits one."""
        return word in self.of_offer.words or self.suits(word) or root(word) in self.of_offer.roots

    def suits(self, word: str) -> bool:
        """Return whether a word is the product's or the audience's, or fits one of them."""
        product, audience = self.of_product, self.of_audience
        if word in product.words or word in audience.words:
            return True
        own = root(word)
        return own in product.roots or own in audience.roots

    def sells(self, word: str) -> bool:
        """Return whether a word is the product's or the offer's."""
        return word in self.line or word in self.of_offer.words or root(word) in self.named


def _sayable(line: str, more: frozenset[str], apt: frozenset[str]) -> Sayable:
    read = words(line)
    own = more.union(read, uniform(read))
    own_roots = roots(own - CLOSED_CLASS)
    apt_roots = roots(apt - CLOSED_CLASS)
    numbers = frozenset(numbers_among(uniform(read)))
    said, said_roots = own | apt, own_roots | apt_roots
    return Sayable(said, said_roots, numbers, apt_roots - own_roots, said | said_roots)


# A campaign's lines are few, and meet in many prompts.
@lru_cache(maxsize=KEPT_PROMPTS)
def _product(product: str) -> Sayable:
    return _sayable(product, names_of(frozenset(_content(product))), sense_of(product))


@lru_cache(maxsize=KEPT_PROMPTS)
def _offer(offer: str) -> Sayable:
    return _sayable(offer, read_offer(offer).allowed, frozenset())


@lru_cache(maxsize=KEPT_PROMPTS)
def _audience(segment: str) -> Sayable:
    address = address_of(segment)
    read = words(segment)
    said, said_roots = address.union(read), _roots(address).union(map(root, read))
    return Sayable(said, said_roots, frozenset(numbers_among(read)), _roots(address), said | said_roots)


@lru_cache(maxsize=KEPT_PROMPTS)
def _roots(address: frozenset[str]) -> frozenset[str]:
    return roots(address)


@lru_cache(maxsize=KEPT_PROMPTS)
def _content(line: str) -> tuple[str, ...]:
    return tuple(content_words(line))


def _short(product: tuple[str, ...]) -> tuple[str, ...]:
    """Return a product's words without the head that people leave out."""
    return product[1:] if len(product) > 1 and product[0] in _HEADS else product


@lru_cache(maxsize=KEPT_PROMPTS)
def _made(offer: str) -> frozenset[str]:
    spelled = uniform(words(offer))
    marks = frozenset(word for word in spelled if word[0] == PART or word[0].isdigit())
    return marks or frozenset(spelled) - CLOSED_CLASS


@lru_cache(maxsize=KEPT_PROMPTS)
def _in_line(product: str) -> frozenset[str]:
    return frozenset(_content(product))


@lru_cache(maxsize=KEPT_PROMPTS)
def _named(product: str) -> frozenset[str]:
    read = _short(_content(product))
    head = frozenset(next(([word] for word in read if word not in ANY_PRODUCT), read))
    return head | roots(head) | names_of(frozenset(read))


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
        product=_short(_content(product or "")),
        offer=read_offer(said_offer),
        offer_words=_content(offer or ""),
        made=_made(said_offer),
        named=_named(said_product),
        line=_in_line(said_product),
        of_product=_product(said_product),
        of_offer=_offer(said_offer),
        of_audience=_audience(segment),
        segment=fold(segment),
    )


def _line(prompt: str, label: str) -> str:
    start = prompt.find(f"\n{label}") + 1
    return prompt[start + len(label) :].split("\n", 1)[0] if start else ""
