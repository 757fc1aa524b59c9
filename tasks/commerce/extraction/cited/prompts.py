"""Prompts of extraction with a copied complaint: the store's reviews, and the words that make their main complaint."""

import random
import tomllib
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Final

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.extraction.cited.quotation import MOST_WORDS
from tasks.commerce.extraction.complaint_signs import read_complaints
from tasks.commerce.extraction.prompts import COMPLAINT, WORDING, ReadableCases, complaint_is_known, known_fields
from tasks.commerce.inputs import review_prompt
from tasks.commerce.prompt_rounds import distinct_prompts
from tasks.commerce.review_cases import ReviewCase, review_cases
from tasks.commerce.text.text_form import fold

DATA_FILES: Final = ("data/evidence/extraction.toml",)
_FILE: Final = Path(__file__).resolve().parents[4] / DATA_FILES[0]
SYSTEM: Final[str] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["system"]
_MARKS: Final = ".!?;:, "
_LINKS: Final = frozenset(("e", "mas", "porem", "pois", "porque", "que"))


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples from the store's reviews, in random order, whose references know the words that complain.

    A complaint that a review does not make, such as one of two words in its title, makes no prompt.
    """
    cases = ReadableCases(review_cases(store), _complaint_is_told)
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


def words_that_complain(review: str, complaint: str) -> str | None:
    """Return the shortest clause, or clauses, of a review that plainly make a complaint; None where none do.

    Where they are too long to be copied it is the first run of words that still makes it.
    """
    if not complaint:
        return ""
    words = review.split()
    clauses = [0, *(place for place in range(1, len(words)) if _begins(words[place - 1], words[place])), len(words)]
    runs = sorted(combinations(clauses, 2), key=lambda run: (run[1] - run[0], run[0]))
    runs += [(start, start + MOST_WORDS) for start in range(len(words) - MOST_WORDS)]
    said = (" ".join(words[start:end]).strip(_MARKS) for start, end in runs if end - start <= MOST_WORDS)
    return next((each for each in said if complaint in read_complaints(each).plain), None)


def _begins(before: str, word: str) -> bool:
    return before[-1] in _MARKS or fold(before) in _LINKS or fold(word) in _LINKS
