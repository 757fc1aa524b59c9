"""Prompts of sentiment: the store's reviews without their ratings."""

import random
from collections.abc import Iterator
from typing import Final

from schemas.store.store import Store
from tasks.commerce.example import Example, distinct_prompts
from tasks.commerce.review_cases import ReviewCase, review_cases
from tasks.commerce.text.lexicons import read_wording

DATA_FILES: Final = ("data/wordings/sentiment.toml",)
WORDING: Final = read_wording("sentiment")


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples from the store's reviews, in random order; prompts omit the rating, which is the question."""
    cases = [case for case in review_cases(store) if "sentiment" in case.known]
    for case, prompt in distinct_prompts(cases, WORDING.instructions, ReviewCase.prompt, generator, count):
        reference = {"polarity": case.known["sentiment"], "score": case.known["sentiment_score"]}
        yield Example("sentiment", WORDING.system, prompt, reference, case.customer_id, case.order_id, case.review_id)
