import random
from pathlib import Path

import pytest

from schemas.errors import InputError
from schemas.references import check_reference
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.commerce.text.lexicons import read_wording
from tasks.synthesize.own.opened import OwnFiles, open_own_files
from tasks.synthesize.own.prompts import Skipped, own_prompts
from tests.cases import cases_of
from tests.tasks.synthesize.own.task_inputs import INPUTS

CASES = cases_of(__file__)

SENTIMENT = """
[[prompts]]
path = "notas.{}"
task = "sentiment"
[prompts.columns]
review = "texto"
customer_id = "cliente"
review_id = "id"
[prompts.reference]
score = "nota"
"""


def opened(folder: Path, toml: str) -> OwnFiles:
    (folder / "map.toml").write_text(toml, encoding="utf-8")
    return open_own_files(folder / "map.toml", lambda: bytes(32), INPUTS)


def prompts(
    folder: Path, toml: str, task: TaskName, text: str, name: str = "notas.jsonl", count: int = 100
) -> tuple[list[PromptRow], Skipped]:
    (folder / name).write_text(text, encoding="utf-8")
    skipped = Skipped()
    rows = list(own_prompts(opened(folder, toml), task, count, random.Random(0), skipped))
    for row in rows:
        check_reference(row.task, row.reference)
    return sorted(rows, key=lambda row: row.review_id or ""), skipped


def message_of(folder: Path, toml: str, task: TaskName, text: str, name: str = "notas.jsonl") -> str:
    with pytest.raises(InputError) as caught:
        prompts(folder, toml, task, text, name)
    return str(caught.value)


def test_a_row_is_asked_as_training_asks_and_its_stars_tell_the_polarity(tmp_path: Path) -> None:
    line = '{"texto": "Chegou quebrado,\\n não gostei", "cliente": 7, "id": "a", "nota": 1}\n'
    (row,), _ = prompts(tmp_path, SENTIMENT.format("jsonl"), "sentiment", line)
    instruction, review = row.prompt.split("\n")
    assert instruction in read_wording("sentiment").instructions
    assert review == "Avaliação: Chegou quebrado, não gostei"
    assert row.reference == {"polarity": "negative", "score": 1}
    assert (row.source, row.customer_id, row.review_id) == ("files", "7", "a")


def test_rows_with_nothing_to_read_or_too_much_are_counted(tmp_path: Path) -> None:
    text = f"id;cliente;texto;nota\na;1;  ;5\nb;2;{'x' * 5001};5\nc;3;bom;5\nc;3;bom;5\n"
    rows, skipped = prompts(tmp_path, SENTIMENT.format("csv"), "sentiment", text, "notas.csv")
    assert [row.review_id for row in rows] == ["c"]
    assert skipped.rows == {("sentiment", "have no text"): 1, ("sentiment", "are too long"): 1}


def test_rows_with_a_reference_are_taken_before_others(tmp_path: Path) -> None:
    line = '{{"texto": "texto {0}", "id": "{0}", "cliente": "c", "nota": {1}}}\n'
    text = "".join(line.format(number, 3 if number < 4 else "null") for number in range(40))
    rows, _ = prompts(tmp_path, SENTIMENT.format("jsonl"), "sentiment", text, count=5)
    assert [row.reference["score"] is None for row in rows].count(True) == 1


def test_of_millions_of_rows_as_many_are_read_as_are_needed_and_none_with_a_reference_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two million reviews took twenty minutes for twenty thousand prompts."""
    monkeypatch.setattr("tasks.synthesize.own.prompts.TRIED_ALWAYS", 10)
    line = '{{"texto": "texto {0}", "id": "{0}", "cliente": "c", "nota": {1}}}\n'
    text = "".join(line.format(number, 3 if number % 20 == 0 else "null") for number in range(60))
    rows, skipped = prompts(tmp_path, SENTIMENT.format("jsonl"), "sentiment", text, count=1)
    assert (len(rows), skipped.usable["sentiment"]) == (1, 10)
    assert skipped.rows == {("sentiment", "are more than were needed"): 50}
    rows, _ = prompts(tmp_path, SENTIMENT.format("jsonl"), "sentiment", text, count=4)
    assert [row.reference["score"] for row in rows].count(3) == 3


def test_two_texts_of_one_review_are_refused(tmp_path: Path) -> None:
    text = '{"texto": "bom", "id": "a", "cliente": 1, "nota": 5}\n{"texto": "ruim", "id": "a", "cliente": 1}\n'
    message = message_of(tmp_path, SENTIMENT.format("jsonl"), "sentiment", text)
    assert "line 2 has the review_id of line 1, and another text" in message


EXTRACTION = Path(__file__).with_name("extraction_columns.toml").read_text(encoding="utf-8")


def test_a_reference_in_part_is_completed_by_what_a_review_says(tmp_path: Path) -> None:
    text = (
        '{"texto": "Demorou demais", "id": "a", "nota": 1, "motivo": "Entrega", "queixa": "demora", "atraso": "sim"}\n'
        '{"texto": "xyz", "id": "b", "nota": 3}\n'
        '{"texto": "sem nada", "id": "c"}\n'
    )
    rows, skipped = prompts(tmp_path, EXTRACTION, "extraction", text)
    known, nothing = rows
    stars = {"sentiment": "negative", "sentiment_score": 1}
    given = {"complaint_category": "delivery", "main_complaint": "demora", "delivery_issue": True}
    assert {**known.reference["fields"], **stars, **given} == known.reference["fields"]
    assert nothing.reference == {"rating": None, "fields": {}}
    assert skipped.rows == {("extraction", "do not tell their complaint"): 1}


PUSH = Path(__file__).with_name("push_columns.toml").read_text(encoding="utf-8")


def test_a_column_of_tasks_divides_a_file_and_a_push_is_asked_what_it_must_say(tmp_path: Path) -> None:
    text = (
        '{"tarefa": "campanha", "produto": "fone  de ouvido", "oferta": "frete grátis", "publico": "todos"}\n'
        '{"tarefa": "opiniao", "texto": "bom", "nota": 5}\n'
    )
    (push,), _ = prompts(tmp_path, PUSH, "push", text)
    (sentiment,), _ = prompts(tmp_path, PUSH, "sentiment", text)
    assert push.reference == {"product": "fone de ouvido", "offer": "frete grátis"}
    assert "Produto: fone de ouvido\nOferta: frete grátis" in push.prompt
    assert sentiment.reference["score"] == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [*CASES["a_wrong_line_is_one_sentence"], ("[" * 100_000 + "\n", "line 1: Invalid JSON: recursion limit")],
)
def test_a_wrong_line_is_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    assert words in message_of(tmp_path, SENTIMENT.format("jsonl"), "sentiment", text)


@pytest.mark.parametrize(("change", "words"), CASES["inputs_are_checked_before_a_file_is_looked_for"])
def test_inputs_are_checked_before_a_file_is_looked_for(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words.replace("?", r"\?")):
        opened(tmp_path, SENTIMENT.format("jsonl").replace(*change))


def test_a_whole_prompt_is_taken_as_it_is_and_facts_stand_between_bars(tmp_path: Path) -> None:
    toml = SENTIMENT.format("csv").replace('"sentiment"', '"insights"').replace("review = ", "prompt = ")
    toml = toml.replace("score = ", "facts = ")
    text = "id;cliente;texto;nota\na;1;Analise: A | 1;A: 1 pedido | B: 2 pedidos\n"
    (row,), _ = prompts(tmp_path, toml, "insights", text, "notas.csv")
    assert row.prompt == "Analise: A | 1"
    assert row.reference == {"facts": ["A: 1 pedido", "B: 2 pedidos"]}
