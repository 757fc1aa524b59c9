"""An answer counts as usable exactly where a shop's program can use it as it stands."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS
from tasks.commerce.sql_qa.sandbox import Databases

SENTIMENT = {"polarity": "negative", "score": 1}
JSON_TASKS = [name for name in TASK_NAMES if TASKS[name].answers_in_json]


@pytest.mark.parametrize("task", TASK_NAMES)
def test_every_right_answer_is_usable(
    task: TaskName, examples: Mapping[TaskName, list[Example]], databases: Databases
) -> None:
    for example in examples[task]:
        answer = TASKS[task].answer(example.reference)
        read = TASKS[task].check(answer, databases)
        assert read.fault is None, answer
        assert read.parsed == (json.loads(answer) if task in JSON_TASKS else answer)


@pytest.mark.parametrize("task", TASK_NAMES)
@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_is_not_usable(task: TaskName, text: str) -> None:
    read = TASKS[task].check(text, None)
    assert read.parsed is None
    assert read.fault


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (f"Claro! {json.dumps(SENTIMENT)}", "it is not strict JSON alone: surrounded"),
        ('{"polarity": "negative"}', "it lacks score"),
        (json.dumps({**SENTIMENT, "name": "Ana", "cpf": 1}), "it has 2 fields that were not asked for"),
        (json.dumps({**SENTIMENT, "score": 9}), "score not of the values that are allowed"),
        (json.dumps({**SENTIMENT, "score": True}), "score not of the values that are allowed"),
        ('{"polarity": "negative", "score": 1', "it is not strict JSON alone"),
        ("Não posso responder.", "it holds no JSON object"),
    ],
)
def test_an_object_that_is_not_as_asked_is_not_usable(written: str, fault: str) -> None:
    assert (TASKS["sentiment"].check(written, None).fault or "").startswith(fault)


def test_an_unknown_field_is_not_repeated_for_it_may_hold_anything() -> None:
    answer: dict[str, Any] = {**SENTIMENT, "João da Silva": 1}
    assert "João" not in (TASKS["sentiment"].check(json.dumps(answer), None).fault or "")


def test_a_push_that_a_phone_cuts_off_is_not_usable() -> None:
    check = TASKS["push"].check
    assert check("Fone com 20% de desconto só hoje!", None).fault is None
    assert check("a" * 121, None).fault == "it has 121 characters, and a phone shows 120"
    assert check("um\ndois\ntrês", None).fault == "it has 3 lines"


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("SELECT COUNT(*) FROM orders", None),
        ("```sql\nSELECT COUNT(*) FROM orders\n```", None),
        ("SELECT COUNT(*) FROM pedidos", "the query does not run on the store: invalid"),
        ("DROP TABLE orders", "it holds no SELECT"),
        ("Segue a consulta: SELECT COUNT(*) FROM orders", "there is other text around the query"),
    ],
)
def test_a_query_has_to_run_on_the_store(written: str, fault: str | None, databases: Databases) -> None:
    assert TASKS["sql_qa"].check(written, databases).fault == fault


def test_without_a_store_a_query_is_read_alone() -> None:
    assert TASKS["sql_qa"].check("SELECT COUNT(*) FROM pedidos", None).fault is None
