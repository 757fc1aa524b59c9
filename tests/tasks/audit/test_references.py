"""A session that asks for references: the unknown alone, each once, each saved, each to be taken back."""

from pathlib import Path

import pytest

from schemas.errors import InputError
from schemas.references import read_given
from tasks.audit.references import ReferenceSession
from tests.tasks.curate.prompt_rows import prompt_row

UNTOLD = prompt_row("sentiment", "Veio quebrado", {"polarity": None, "score": None})
PARTLY = prompt_row("extraction", "Atrasou", {"rating": 2, "fields": dict.fromkeys(["sentiment"], "negative")})
TOLD = prompt_row("sentiment", "Bom")
PROMPTS = [TOLD, prompt_row("push", "mala", {"product": None, "offer": None}), UNTOLD, PARTLY]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "references.jsonl"


def test_it_asks_for_what_is_unknown_and_can_be_read(file: Path) -> None:
    session = ReferenceSession(PROMPTS, file, "ana")
    assert session.total == session.left == 2 + 9
    assert ReferenceSession(PROMPTS, file, "ana", "extraction").total == 9
    asked = []
    while question := session.current:
        asked.append((question.prompt, question.field))
        session.answer(None)
    assert asked[:3] == [("Veio quebrado", "polarity"), ("Veio quebrado", "score"), ("Atrasou", "sentiment_score")]
    assert len(asked) == 11


def test_each_answer_is_in_the_file_at_once_and_the_next_session_goes_on(file: Path) -> None:
    first = ReferenceSession(PROMPTS, file, "ana")
    first.answer("negative")
    assert [line.reference for line in read_given(file)] == [{"polarity": "negative"}]
    second = ReferenceSession(PROMPTS, file, "bia")
    assert second.left == 10
    second.answer(1)
    second.answer(None)
    assert [(line.rater, line.values) for line in read_given(file)] == [
        ("ana", {"polarity": "negative"}),
        ("bia", {"score": 1}),
        ("bia", {"sentiment_score": None}),
    ]
    # What another gave meanwhile stays.
    first.answer(5)
    assert [line.values for line in read_given(file)][:2] == [{"polarity": "negative"}, {"score": 1}]
    assert first.current == second.current


def test_a_question_or_file_that_cannot_be_read_is_refused_in_one_sentence(file: Path) -> None:
    with pytest.raises(InputError, match="no test prompt of extraction or sentiment lacks a value"):
        ReferenceSession([TOLD, *PROMPTS[:2]], file, "ana")
    with pytest.raises(InputError, match="--rater takes a pseudonym"):
        ReferenceSession(PROMPTS, file, "Ana Maria")
    file.write_text("{}\n")
    with pytest.raises(InputError, match="line 1: prompt_id is missing"):
        ReferenceSession(PROMPTS, file, "ana")
