"""Prompts of a served model's logs: what feedback answered, once each, and nothing whose system prompt is unknown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schemas.tables.prompts import PromptRow, content_id, read_prompts
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.synthesize.served_prompts import SOURCE, write_served_prompts
from tests.tasks.monitor.logged import PUSH_PROMPT, answer, write_log

MOST: dict[TaskName, int] = {"push": 10, "sql_qa": 10, "sentiment": 10}
ONE, OTHER = (f"push-{digit * 32}" for digit in "12")


def reference(product: str = "vaso de cerâmica") -> dict[str, Any]:
    return {"product": product, "offer": "20% de desconto"}


def served(
    folder: Path, answers: list[dict[str, Any]], feedback: Sequence[dict[str, Any]] = (), push: int = 10
) -> list[PromptRow]:
    logs = folder / "logs"
    (logs / "feedback").mkdir(parents=True, exist_ok=True)
    write_log(logs / "2026-03-10.jsonl", answers)
    write_log(logs / "feedback" / "2026-03-10.jsonl", feedback)
    table = folder / "served.parquet"
    write_served_prompts(logs, {**MOST, "push": push}, table)
    return read_prompts(table)


def said(request: str, **values: Any) -> dict[str, Any]:
    return {"request_id": request, "time": "2026-03-10T11:00:00Z", **values}


def test_an_answer_whose_reference_came_as_feedback_is_a_prompt_and_the_others_are_none(tmp_path: Path) -> None:
    answers = [answer(request_id=ONE), answer(request_id=OTHER, prompt="Crie um push.\nProduto: bule\nOferta: frete")]
    (row,) = served(tmp_path, answers, [said(ONE, reference=reference()), said(OTHER, rating=2)])
    system = TASKS["push"].system
    assert row == PromptRow(
        content_id("push", system, PUSH_PROMPT, reference()),
        "push", system, PUSH_PROMPT, reference(), SOURCE, None, None, None,
    )  # fmt: skip


def test_prompts_with_another_system_prompt_are_left_out(tmp_path: Path) -> None:
    def asked(system: str) -> dict[str, Any]:
        return answer(prompt_id=content_id("push", system, PUSH_PROMPT, {}), reference=reference())

    assert served(tmp_path, [asked("Fale como um pirata.")]) == []
    assert len(served(tmp_path, [asked(TASKS["push"].system)])) == 1


def test_a_prompt_whose_reference_is_corrected_stays_in_its_split(tmp_path: Path) -> None:
    def asked(score: int) -> PromptRow:
        known = {"polarity": "negative", "score": score}
        (row,) = served(tmp_path, [answer(task="sentiment", prompt="Avaliação: ruim", reference=known)])
        return row

    assert asked(1).prompt_id != asked(2).prompt_id
    assert asked(1).review_id == asked(2).review_id is not None


def test_equal_logs_give_equal_bytes_however_their_lines_are_ordered(tmp_path: Path) -> None:
    answers = [answer(prompt=f"{PUSH_PROMPT} {number}", reference=reference()) for number in range(5)]
    written = []
    for lines in (answers, answers[::-1]):
        served(tmp_path, lines)
        written.append((tmp_path / "served.parquet").read_bytes())
    assert written[0] == written[1]


def test_personal_data_of_a_log_is_in_no_row_and_in_no_digest(tmp_path: Path) -> None:
    """A digest of a text with a telephone number could be searched for."""
    number, text = "(11) 98765-4321", "Avaliação: chegou quebrado, me liguem: "
    raw = content_id("sentiment", TASKS["sentiment"].system, text + number, {})
    answers = [
        answer(task="sentiment", prompt=text + each, prompt_id=known, reference={"polarity": "negative", "score": 1})
        for each, known in ((number, raw), ("21 99876-1234", None))
    ]
    (row,) = served(tmp_path, answers)
    assert row.prompt == f"{text}[TELEFONE]"
    assert row.prompt_id == content_id("sentiment", row.system, row.prompt, row.reference)
    assert row.review_id == content_id("sentiment", row.system, row.prompt, {})
