"""Questions of files and people become prompts, or are refused with their line."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from tasks.commerce.registry import TASKS
from tasks.serve.questions import read_questions


def _written(folder: Path, *lines: dict[str, Any]) -> Path:
    file = folder / "questions.jsonl"
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return file


def test_a_line_is_the_tasks_inputs_or_a_prompt_and_may_have_a_reference(tmp_path: Path) -> None:
    reference = {"polarity": "negative", "score": 1}
    file = _written(
        tmp_path,
        {"review": "Não chegou", "reference": reference},
        {"prompt_id": "p7", "task": "sentiment", "prompt": "Qual o sentimento?\nAvaliação: Ótimo", "completion": "x"},
        {"prompt": "Qual?", "system": "Seja breve."},
    )
    rows = read_questions(file, "sentiment")
    assert rows[0].prompt == f"{TASKS['sentiment'].instruction}\nAvaliação: Não chegou"
    assert rows[0].reference == reference
    assert [row.system for row in rows] == [TASKS["sentiment"].system] * 2 + ["Seja breve."]
    assert rows[1].prompt_id == "p7"
    assert len({row.prompt_id for row in rows}) == 3


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"text": "Não chegou"}, "the inputs of sentiment are review: "),
        ({"prompt": "Qual?", "task": "push"}, "it is a prompt of 'push', and sentiment is asked"),
        ({"review": "Bom", "reference": {"score": 9}}, "its reference is none of sentiment"),
    ],
)
def test_a_line_that_is_no_question_is_refused_with_its_number(line: dict[str, Any], said: str, tmp_path: Path) -> None:
    file = _written(tmp_path, {"review": "Bom"}, line)
    with pytest.raises(InputError, match="line 2") as refused:
        read_questions(file, "sentiment")
    assert said in str(refused.value)
