"""Prompts of extraction with a copied complaint: the store's reviews, and the words that make their main complaint."""

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.extraction.cited.fields import COMPLAINT
from tasks.commerce.extraction.cited.quotation import MOST_WORDS
from tasks.commerce.extraction.cited.real_reviews import words_that_complain
from tasks.commerce.extraction.prompts import WORDING, complaint_is_known, known_fields
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
    cases = review_cases(store).only(_complaint_is_told)
    for case, prompt in distinct_prompts(cases, WORDING.instructions, _prompt, generator, count):
        fields = known_fields(case)
        reference = {"rating": case.rating, "fields": fields, "complaint_words": _words(case, fields[COMPLAINT])}
        yield Example("extraction", SYSTEM, prompt, reference, case.customer_id, case.order_id, case.review_id)


def _complaint_is_told(case: ReviewCase) -> bool:
    if not complaint_is_known(case):
        return False
    complaint = known_fields(case)[COMPLAINT]
    return not complaint or bool(_words(case, complaint))


def _words(case: ReviewCase, complaint: str) -> str | None:
    if case.complaint_words is None:
        return words_that_complain(case.text, complaint)
    return " ".join(case.complaint_words.split()[:MOST_WORDS])


def _prompt(case: ReviewCase, instruction: str) -> str:
    return review_prompt(instruction, case.text)
