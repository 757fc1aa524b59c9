"""Prompts of extraction: the store's reviews, each with its rating and its delivery."""

import random
from collections.abc import Iterator, Mapping
from typing import Final

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.prompt_rounds import distinct_prompts
from tasks.commerce.review_cases import ReviewCase, review_cases
from tasks.commerce.text.wordings import read_wording

DATA_FILES: Final = ("data/wordings/extraction.toml",)
WORDING: Final = read_wording("extraction")
DELIVERY: Final[Mapping[bool | None, str]] = {True: "com atraso", False: "no prazo", None: "não registrada"}


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples from the store's reviews, in random order."""
    cases = review_cases(store)
    for case, prompt in distinct_prompts(cases, WORDING.instructions, _prompt, generator, count):
        reference = {"rating": case.rating, "fields": case.known}
        yield Example("extraction", WORDING.system, prompt, reference, case.customer_id, case.order_id, case.review_id)


def _prompt(case: ReviewCase, instruction: str) -> str:
    return f"{instruction}\nNota: {case.rating}\nEntrega: {DELIVERY[case.delivered_late]}\nAvaliação: {case.text}"
