"""General instructions: both forms are read alike, and what is wrong with a line is said without repeating it."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.faults import first_fault
from schemas.tables.instructions import Instruction

QUESTION = {"role": "user", "content": "Quem é você?"}
ANSWER = {"role": "assistant", "content": "Sou um modelo."}
SYSTEM = {"role": "system", "content": "Seja breve."}


def _read(line: Any) -> Instruction:
    return Instruction.model_validate_json(json.dumps(line), strict=True)


def test_the_chat_form_is_the_same_instruction() -> None:
    plain = {"prompt": "Quem é você?", "completion": "Sou um modelo."}
    assert _read({"messages": [QUESTION, ANSWER], "id": 7}) == _read(plain)
    assert _read({"messages": [SYSTEM, QUESTION, ANSWER], "prompt": "of a collection"}) == _read(
        {"system": "Seja breve.", **plain}
    )
    assert _read({"messages": "a column of the same name", **plain}) == _read(plain)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"messages": [QUESTION, ANSWER, QUESTION, ANSWER]}, "messages must be one user turn and one assistant turn"),
        ({"messages": [{"role": ["user"]}, ANSWER]}, "messages must be one user turn and one assistant turn"),
        ({"prompt": "Quem é você?"}, "completion is missing"),
        ({"prompt": "Quem é você?", "completion": ["Sou um modelo."]}, "completion: Input should be a valid string"),
    ],
)
def test_a_line_that_is_no_instruction_is_refused_without_its_words(line: Any, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        _read(line)
    explained = first_fault(caught.value)
    assert explained.startswith(said)
    assert "você" not in explained
    assert "Sou um modelo" not in explained
