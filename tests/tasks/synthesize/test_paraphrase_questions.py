"""The check against the project's own bank of SQL questions, which has several texts for each query.

Two texts of one query are paraphrases that people wrote; questions of different queries with the same numbers and names
are the most dangerous answers that a model could give.
"""

import itertools
import random
from collections import defaultdict

import pytest

from schemas.config.config import AUDIT_FOLDER
from schemas.store.files import read_store
from schemas.tables.prompts import PromptRow, content_id
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.text.portuguese import numbers_in
from tasks.synthesize.paraphrase import find_sentence
from tasks.synthesize.paraphrase_check import Sentence, find_fault

QUESTIONS = 2_500
MOST_PAIRS_OF_ONE = 8


@pytest.fixture(scope="module")
def questions() -> dict[Sentence, str]:
    """Each question with its query."""
    found = {}
    for example in EXAMPLE_MAKERS["sql_qa"](read_store(AUDIT_FOLDER / "store"), random.Random(1), QUESTIONS):
        content = (example.task, example.system, example.prompt, example.reference)
        place = find_sentence(PromptRow(content_id(*content), *content, "simulated", None, None, None))
        assert place is not None
        found[place[0]] = str(example.reference["sql"])
    return found


def test_no_other_question_passes_for_a_paraphrase(questions: dict[Sentence, str]) -> None:
    alike = defaultdict(list)
    for sentence in questions:
        alike[(tuple(numbers_in(sentence.text)), sentence.values)].append(sentence)
    pairs = [
        (one, other)
        for sentences in alike.values()
        for one, other in itertools.permutations(sentences[:MOST_PAIRS_OF_ONE], 2)
        if questions[one] != questions[other]
    ]
    assert len(pairs) > 500
    assert [(one.text, other.text) for one, other in pairs if find_fault(one, other.text) is None] == []


def test_many_texts_of_the_same_query_pass(questions: dict[Sentence, str]) -> None:
    texts = defaultdict(list)
    for sentence, sql in questions.items():
        texts[sql].append(sentence)
    pairs = [pair for sentences in texts.values() for pair in itertools.permutations(sentences, 2)]
    assert len(pairs) > 100
    assert sum(find_fault(one, other.text) is None for one, other in pairs) > 0.15 * len(pairs)
