"""Prompts of extraction with a copied complaint: the store's reviews, and the words that make their main complaint."""

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.extraction.cited.quotation import MOST_WORDS
from tasks.commerce.extraction.prompts import COMPLAINT, WORDING, ReadableCases, complaint_is_known, known_fields
from tasks.commerce.inputs import review_prompt
from tasks.commerce.prompt_rounds import distinct_prompts
from tasks.commerce.review_cases import ReviewCase, review_cases

DATA_FILES: Final = ("data/evidence/extraction.toml",)
_FILE: Final = Path(__file__).resolve().parents[4] / DATA_FILES[0]
SYSTEM: Final[str] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["system"]


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples from the store's reviews, in random order, whose references know the words that complain.

    A complaint that a review does not make, such as one of two words in its title, makes no prompt.
    """
    cases = ReadableCases(review_cases(store), _complaint_is_told)
    for case, prompt in distinct_prompts(cases, WORDING.instructions, _prompt, generator, count):
        reference = {"rating": case.rating, "fields": known_fields(case), "complaint_words": complaint_words(case)}
        yield Example("extraction", SYSTEM, prompt, reference, case.customer_id, case.order_id, case.review_id)


def _complaint_is_told(case: ReviewCase) -> bool:
    return complaint_is_known(case) and not (case.complaint_words == "" and case.known.get(COMPLAINT))


def _prompt(case: ReviewCase, instruction: str) -> str:
    return review_prompt(instruction, case.text)


def complaint_words(case: ReviewCase) -> str | None:
    """Return the words of a review that make its main complaint, as many as may be copied; None where unknown."""
    if case.complaint_words is None:
        return None
    return " ".join(case.complaint_words.split()[:MOST_WORDS])
