"""Files of questions become prompts, or are refused with their line; answers stand beside what was asked."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from schemas.tables.delimited import read_delimited
from tasks.commerce.registry import TASKS
from tasks.serve.answerer import TaskAnswer
from tasks.serve.by_hand.files import read_questions, write_answers
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


def _answer(text: str | None, parsed: dict[str, Any] | None, reason: str | None = None) -> TaskAnswer:
    said = {"text": text, "checked": reason is None, "reason": reason, "parsed": parsed}
    return TaskAnswer.model_validate(CASES["ANSWER"] | said)


@pytest.mark.parametrize(("delimiter", "encoding"), [(";", "cp1252"), (",", "utf-8"), ("\t", "utf-8-sig")])
def test_a_table_is_asked_by_its_column_and_answered_beside_all_of_its_columns(
    tmp_path: Path, delimiter: str, encoding: str
) -> None:
    file, out = tmp_path / "novas.CSV", tmp_path / "respostas.csv"
    lines = (("pedido", "review", "score"), ("7", '"Não chegou; e\nagora?"', "x"), ("8", "Bom", ""))
    file.write_bytes("\r\n".join(map(delimiter.join, lines)).encode(encoding))
    rows = read_questions(file, "sentiment")
    assert [row.prompt.splitlines()[-1] for row in rows] == ["Avaliação: Não chegou; e agora?", "Avaliação: Bom"]
    answers = [_answer('{"score":1}', {"polarity": "negative", "score": 1}), _answer(None, None, "=nada")]
    write_answers(out, answers, file)
    assert out.read_bytes().startswith(b"\xef\xbb\xbfpedido;review;score;answer_text;answer_checked;")
    first, second = read_delimited(out).to_dicts()
    assert (first["pedido"], first["score"], first["answer_polarity"], first["answer_score"]) == (
        "7",
        "x",
        "negative",
        "1",
    )
    assert (first["answer_checked"], second["answer_checked"], second["answer_text"]) == ("true", "false", None)
    # A spreadsheet would compute it.
    assert second["answer_reason"] == "'=nada"
    write_answers(out, answers, None)
    assert [row["prompt"] for row in read_delimited(out).to_dicts()] == ["Avaliação: P"] * 2
    write_answers(out, [_answer("\u200b=1+1", None), _answer("2,5", None)], None)
    # Also behind a sign that nobody sees; a number stays one.
    assert [row["answer_text"] for row in read_delimited(out).to_dicts()] == ["'\u200b=1+1", "2,5"]


def test_a_table_without_the_column_is_refused_with_the_columns_that_it_has(tmp_path: Path) -> None:
    file = tmp_path / "novas.csv"
    file.write_text("pedido;Comentário\n7;Bom\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"no column is 'review'; the columns are 'pedido', 'Comentário'"):
        read_questions(file, "sentiment")
    file.write_text("review\nBom\n \n", encoding="utf-8")
    with pytest.raises(InputError, match="line 3"):
        read_questions(file, "sentiment")
