"""General instructions: both forms are read alike, and what is wrong with a line is said without repeating it."""

import json
from typing import Any

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
