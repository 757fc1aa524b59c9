"""Push: one notification for a product and an offer, short enough for a phone.

Components (each in [0, 1]; the final report's length, language and formality, with the given facts added):

- `length`: graphemes as a phone shows them. 1 up to 120, then steeply (a square) down to 0 at 200; rises from 0 to 25.
  Gamed by any short text, so it counts in full only as far as product and offer are named, and a fifth at least.
  Source: final report, V4.2.1 hotfix.
- `product`: share of the product's words that are there, in any form. Gamed by a list of products.
- `offer`: share of the offer's words and signs that are there; 0.3 times where one of its numbers is missing, halved
  for each number that nobody gave. Gamed by repeating the prompt.
- `style`: 0 for the manner of an e-mail; otherwise 0.7, and 1 with a call to action, each halved by several lines or
  markup and by chatter. Counts like `length`. Source: final report, formal penalty.

All are scaled by what makes the text a message: it is Portuguese and no heap of keywords, it is not copied from the
prompt, and it is no refusal.
"""

import random
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from schemas.documents import Rollout
from schemas.store import Store
from tasks.commerce.categories import readable_category
from tasks.commerce.commerce_task import CommerceTask, Reference, Reward, Score, fill_unknown
from tasks.commerce.example import Example
from tasks.commerce.lexicons import read_lexicon
from tasks.commerce.portuguese_numbers import numbers_in
from tasks.commerce.sandbox import Databases
from tasks.commerce.text_form import (
    MAX_CHARACTERS,
    any_of,
    chatters,
    content_words,
    fluency,
    fold,
    labels,
    originality,
    ramp,
    refuses,
    share_present,
    words,
)
from tasks.commerce.wordings import read_wording

WORDING: Final = read_wording("push")
AUDIENCES: Final = (
    "clientes frequentes",
    "clientes sem compra há 90 dias",
    "quem deixou itens no carrinho",
    "novos clientes",
)
OFFERS: Final = (
    *(f"{percent}% de desconto" for percent in (5, 10, 12, 15, 20, 25, 30, 40, 50)),
    *(f"R$ {amount} de desconto" for amount in (10, 15, 25, 40, 60)),
    *(f"cupom de R$ {amount}" for amount in (20, 30, 50)),
    *(f"{percent}% de cashback" for percent in (3, 8, 18)),
    "frete grátis",
    "leve 3 e pague 2",
    "leve 2 e pague 1",
)
WEIGHTS: Final = {"length": 0.30, "product": 0.25, "offer": 0.25, "style": 0.20}
MAX_GRAPHEMES: Final = 120
ENOUGH_GRAPHEMES: Final = 25
HOPELESS_GRAPHEMES: Final = 200
FAR_TOO_LONG: Final = 1_000

_FORMAL: Final = any_of("formal_phrases")
_CALLS: Final = frozenset(fold(word) for word in read_lexicon("calls_to_action"))
_MARKUP: Final = re.compile(r"\*\*|^[ \t]*[#*{\[`-]", re.MULTILINE)


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples of campaigns for the categories that the store sells."""
    sold = store.items.join(store.products, on="product_id")["product_category_name"].drop_nulls()
    products = sorted({readable_category(category) for category in sold.unique()})
    campaigns = [(product, offer) for product in products for offer in OFFERS]
    generator.shuffle(campaigns)
    for product, offer in campaigns[:count]:
        audience = generator.choice(AUDIENCES)
        prompt = f"{generator.choice(WORDING.instructions)}\nProduto: {product}\nOferta: {offer}\nPúblico: {audience}"
        yield Example("push", WORDING.system, prompt, {"product": product, "offer": offer})


def answer(reference: Reference) -> str:
    """Return a push that names the offer and the product."""
    offer = reference.get("offer") or "Novidades"
    product = reference.get("product") or "toda a loja"
    return f"{offer[0].upper()}{offer[1:]} em {product}! Aproveite hoje no app."


def graphemes(text: str) -> int:
    """Count what a phone shows: a letter with its accents is one, and so is an emoji with its skin tone.

    A text that is far too long is counted by its code points, since nobody would see the difference.
    """
    composed = unicodedata.normalize("NFC", text)
    if composed.isascii() or len(composed) > FAR_TOO_LONG:
        return len(composed)
    import emoji

    single = emoji.replace_emoji(composed, "x")
    return sum(not unicodedata.combining(character) for character in single)


def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:  # noqa: ARG001 - every task's signature
    """Score length, the facts given, and the manner."""
    text = completion.strip()[:MAX_CHARACTERS]
    text_words = words(text)
    product, offer = (reference or {}).get("product"), (reference or {}).get("offer")
    named = None if product is None else share_present(content_words(product), text_words)
    offered = None if offer is None else _offer(offer, text, text_words, prompt)
    facts = [value for value in (named, offered) if value is not None]
    ground = 0.2 + 0.8 * (sum(facts) / len(facts)) if facts else 1.0
    message = 0.0 if refuses(text) else fluency(text_words) * originality(text_words, prompt, WORDING.system)
    components = {
        "length": message * ground * _length(graphemes(text)),
        "product": None if named is None else message * named,
        "offer": None if offered is None else message * offered,
        "style": message * ground * _style(text, text_words),
    }
    return Score(fill_unknown(components, WEIGHTS))


def _length(count: int) -> float:
    if count <= MAX_GRAPHEMES:
        return ramp(count, 0, ENOUGH_GRAPHEMES)
    return ramp(count, HOPELESS_GRAPHEMES, MAX_GRAPHEMES) ** 2


def _offer(offer: str, text: str, text_words: Sequence[str], prompt: str) -> float:
    given, found = set(numbers_in(offer)), set(numbers_in(text))
    invented = found - given - set(numbers_in(prompt))
    missing = 1.0 if given <= found else 0.3
    return share_present(labels(offer), text_words) * missing * 0.5 ** len(invented)


def is_formal(text: str) -> bool:
    """Tell whether a text has the manner of an e-mail."""
    return bool(_FORMAL.search(fold(text)))


def _style(text: str, text_words: Sequence[str]) -> float:
    if is_formal(text):
        return 0.0
    calls = not _CALLS.isdisjoint(text_words)
    one_message = "\n" not in text and not _MARKUP.search(text)
    return (1.0 if calls else 0.7) * (1.0 if one_message else 0.5) * (0.5 if chatters(text) else 1.0)


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return the share of pushes that keep each constraint, and that keep all of them."""
    known = [rollout for rollout in rollouts if rollout.reference]
    if not known:
        return {}
    kept = [_constraints(rollout) for rollout in known]
    rates = {name: sum(one[name] for one in kept) / len(kept) for name in kept[0]}
    return rates | {"all_kept": sum(all(one.values()) for one in kept) / len(kept)}


def _constraints(rollout: Rollout) -> dict[str, bool]:
    reference = rollout.reference or {}
    text = rollout.completion.strip()[:MAX_CHARACTERS]
    text_words = words(text)
    given = set(numbers_in(reference.get("offer") or ""))
    return {
        "within_length": 0 < graphemes(text) <= MAX_GRAPHEMES,
        "names_product": share_present(content_words(reference.get("product") or ""), text_words) == 1.0,
        "names_offer": share_present(labels(reference.get("offer") or ""), text_words) == 1.0
        and given <= set(numbers_in(text)),
        "informal": not is_formal(text),
    }


TASK: Final = CommerceTask("push", WORDING.system, examples, answer, {"grounded": Reward(WEIGHTS, score)}, metric)
