"""Prompts of churn with cited reasons: those of the prose, whose references hold the profile's lines too."""

import random
from collections.abc import Iterator
from typing import Final

from schemas.store.store import Store
from tasks.commerce.churn.cited.phrases import read_phrases
from tasks.commerce.churn.cited.profile import read_profile
from tasks.commerce.churn.prompts import shoppers
from tasks.commerce.example import Example

SYSTEM: Final = read_phrases().system


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples from the shoppers whose outcome the store knows; a real store knows none."""
    for shopper, prompt in shoppers(store, generator, count):
        profile = read_profile(prompt)
        lines = dict(profile.texts) if profile else {}
        yield Example("churn", SYSTEM, prompt, {"churn": shopper.churned, "profile": lines}, shopper.customer_id)
