"""Prompts of push in phrases: those of prose, with the system prompt of the other form."""

import random
from collections.abc import Iterator
from dataclasses import replace

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.push.cited.phrases import read_phrases
from tasks.commerce.push.prompts import examples as examples_of_prose


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples of campaigns: things with offers, segments and wordings in any combination, no duplicates."""
    system = read_phrases().system
    for example in examples_of_prose(store, generator, count):
        yield replace(example, system=system)
