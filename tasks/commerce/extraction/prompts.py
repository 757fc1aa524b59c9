"""Prompts of extraction: the store's reviews, and the words that make their main complaint."""

import random
from collections.abc import Iterator
from typing import Any, Final

from schemas.store.store import Store
from tasks.commerce.example import Example, distinct_prompts
from tasks.commerce.extraction.quotation import COMPLAINT, MOST_WORDS, fault_of
from tasks.commerce.extraction.real_reviews import known_of_review, words_that_complain
from tasks.commerce.review_cases import ReviewCase, review_cases
from tasks.commerce.text.json_fields import CAUSE_FIELDS
from tasks.commerce.text.lexicons import read_wording

DATA_FILES: Final = ("data/wordings/extraction.toml",)
WORDING: Final = read_wording("extraction")


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples from the store's reviews, in random order, whose references know the words that complain.

    A real review has to say its complaint, or that there is none, in plain words: where nobody knows it, an honest
    complaint cannot be told from an invented one. One that a review does not make, such as one of two words in its
    title, makes no prompt.
    """
    cases = list(filter(_complaint_is_told, review_cases(store)))
    for case, prompt in distinct_prompts(cases, WORDING.instructions, ReviewCase.prompt, generator, count):
        fields = _known_fields(case)
        reference = {"rating": case.rating, "fields": fields, "complaint_words": _words(case, fields[COMPLAINT])}
        yield Example("extraction", WORDING.system, prompt, reference, case.customer_id, case.order_id, case.review_id)


def _complaint_is_told(case: ReviewCase) -> bool:
    complaint = _known_fields(case).get(COMPLAINT)
    return complaint == "" or bool(complaint and _words(case, complaint))


def _known_fields(case: ReviewCase) -> dict[str, Any]:
    """Return the fields that are known: from the store, and of a real review from what it plainly says."""
    known = {**known_of_review(case.text, case.rating), **case.known}
    return {name: known[name] for name in CAUSE_FIELDS if name in known}


def _words(case: ReviewCase, complaint: str) -> str | None:
    if case.complaint_words is None:
        return words_that_complain(case.text, complaint)
    words = " ".join(case.complaint_words.split()[:MOST_WORDS])
    return words if fault_of(words, case.text) is None else None
