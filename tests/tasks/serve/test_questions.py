"""Questions of files and people become prompts, or are refused with their line."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from tasks.commerce.registry import TASKS
from tasks.serve.questions import read_questions
from tests.cases import cases_of

CASES = cases_of(__file__)


def _written(folder: Path, *lines: dict[str, Any]) -> Path:
    file = folder / "questions.jsonl"
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return file


def test_a_line_is_the_tasks_inputs_or_a_prompt_and_may_have_a_reference(tmp_path: Path) -> None:
    rows = read_questions(_written(tmp_path, *CASES["QUESTIONS"]), "sentiment")
    assert rows[0].prompt == f"{TASKS['sentiment'].instruction}\nAvaliação: Não chegou"
    assert rows[0].reference == CASES["QUESTIONS"][0]["reference"]
    assert [row.system for row in rows] == [TASKS["sentiment"].system] * 2 + ["Seja breve."]
    assert rows[1].prompt_id == "p7"
    assert len({row.prompt_id for row in rows}) == 3


@pytest.mark.parametrize(("line", "said"), CASES["REFUSED"])
def test_a_line_that_is_no_question_is_refused_with_its_number(line: dict[str, Any], said: str, tmp_path: Path) -> None:
    file = _written(tmp_path, {"review": "Bom"}, line)
    with pytest.raises(InputError, match="line 2") as refused:
        read_questions(file, "sentiment")
    assert said in str(refused.value)
