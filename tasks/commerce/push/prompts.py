"""Prompts of push: products, offers and segments of the store's campaigns in any combination."""

import random
from collections.abc import Iterator
from typing import Final

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.push.campaigns import OFFERS, products_of, segments_of
from tasks.commerce.text.wordings import read_wording

DATA_FILES: Final = ("data/wordings/push.toml",)
WORDING: Final = read_wording("push")


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples of campaigns: products, offers, segments and wordings in any combination, no duplicates."""
    if count == 0:
        return
    products, segments = products_of(store), segments_of(store)
    parts = (WORDING.instructions, products, OFFERS, segments)
    combinations = len(WORDING.instructions) * len(products) * len(OFFERS) * len(segments)
    for number in generator.sample(range(combinations), min(count, combinations)):
        chosen = []
        for part in parts:
            number, place = divmod(number, len(part))  # noqa: PLW2901 - the digits of a number in mixed bases
            chosen.append(part[place])
        instruction, product, offer, segment = chosen
        prompt = f"{instruction}\nProduto: {product}\nOferta: {offer}\nPúblico: {segment}"
        yield Example("push", WORDING.system, prompt, {"product": product, "offer": offer})
