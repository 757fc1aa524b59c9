"""Prompts of extraction: the store's reviews, and nothing else that would give a field away."""

import random
from collections.abc import Iterator
from typing import Any, Final

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.extraction.review_reading import known_by_words
from tasks.commerce.prompt_rounds import distinct_prompts
from tasks.commerce.review_cases import ReviewCase, review_cases
from tasks.commerce.text.json_fields import CAUSE_FIELDS
from tasks.commerce.text.wordings import read_wording

DATA_FILES: Final = ("data/wordings/extraction.toml",)
WORDING: Final = read_wording("extraction")


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples from the store's reviews, in random order."""
    cases = review_cases(store)
    for case, prompt in distinct_prompts(cases, WORDING.instructions, _prompt, generator, count):
        reference = {"rating": case.rating, "fields": _fields(case)}
        yield Example("extraction", WORDING.system, prompt, reference, case.customer_id, case.order_id, case.review_id)


def _prompt(case: ReviewCase, instruction: str) -> str:
    return f"{instruction}\nAvaliação: {case.text}"


def _fields(case: ReviewCase) -> dict[str, Any]:
    """Return the fields that are known: from the store, and of a real review from what it plainly says."""
    known = {**known_by_words(case.text, case.rating), **case.known}
    return {name: known[name] for name in CAUSE_FIELDS if name in known}
