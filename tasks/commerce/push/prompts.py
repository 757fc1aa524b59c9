"""Prompts of push: things with offers that fit them, and segments, of the store's campaigns in any combination."""

import random
from collections.abc import Iterator
from typing import Final

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.push.campaigns import campaigns_of, segments_of
from tasks.commerce.push.inputs import push_prompt
from tasks.commerce.push.regulated import law_against
from tasks.commerce.text.wordings import read_wording

DATA_FILES: Final = ("data/wordings/push.toml",)
WORDING: Final = read_wording("push")


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples of campaigns: things with offers, segments and wordings, no duplicates, nothing regulated."""
    if count == 0:
        return
    campaigns, segments = campaigns_of(store), segments_of(store)
    combinations = len(WORDING.instructions) * len(campaigns) * len(segments)
    left = count
    # Far less than half of the campaigns have a product, or a segment by a product, that gets no push.
    for number in generator.sample(range(combinations), min(2 * count, combinations)):
        rest, place = divmod(number, len(WORDING.instructions))
        instruction = WORDING.instructions[place]
        rest, place = divmod(rest, len(campaigns))
        (product, offer), segment = campaigns[place], segments[rest]
        prompt = push_prompt(instruction, product, offer, segment)
        if law_against(prompt.partition("\nProduto: ")[2]):
            continue
        yield Example("push", WORDING.system, prompt, {"product": product, "offer": offer})
        left -= 1
        if not left:
            return
