"""What is served of an answer: all of it where it holds, what holds of it, a plain one in its place, or nothing."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS
from tasks.commerce.sql_qa.sandbox import Databases
from tests.cases import cases_of

CASES = cases_of(__file__)
JSON_TASKS = [name for name in TASK_NAMES if TASKS[name].schema is not None]
FREE_TEXTS = (
    "",
    "Meus pedidos caíram em março, o que eu faço?",
    "Estado\tReceita\tPedidos\nSP\tR$ 9.000\t90\nRO\tR$ 600\t9",
    "| Estado | Receita |\n|---|---|\n| SP | R$ 9.000 |",
    "produto: coleiras, oferta: 20%, cliente sumiu há 200 dias",
    "{" * 5_000,
    "\x00\ud800 | \u2028 | {produto}",
)
"""Prompts as shops type them, in no form that is known."""


@pytest.mark.parametrize("task", TASK_NAMES)
def test_every_right_answer_is_served_whole(
    task: TaskName, examples: Mapping[TaskName, list[Example]], databases: Databases
) -> None:
    for example in examples[task]:
        answer = TASKS[task].answer(example.reference)
        served = TASKS[task].serve(answer, example.prompt, databases)
        assert (served.checked, served.reason) == (True, None)
        if task in ("extraction", "sentiment", "sql_qa"):
            assert served.text == answer
            assert served.parsed == (json.loads(answer) if task in JSON_TASKS else answer)


@given(prompt=st.sampled_from(FREE_TEXTS) | st.text(), completion=st.text())
def test_no_text_raises_and_an_unchecked_answer_has_a_reason(prompt: str, completion: str) -> None:
    for task, known in TASKS.items():
        for answer in (completion, known.answer({})):
            served = known.serve(answer, prompt, None)
            assert served.checked == (served.reason is None)
            assert len(answer) < 12 or answer not in (served.reason or ""), task


@pytest.mark.parametrize(
    ("task", "prompt"),
    [
        *((task, text) for task in ("insights", "push", "churn") for text in FREE_TEXTS),
        ("insights", "Analise.\nEstado | Receita\nSP | R$ 9.000"),
        ("insights", "Analise.\nEstado | Receita\nSP | R$ 9.000\nRO | R$ 9.000"),
        ("insights", "Analise.\nEstado | Receita\nSP | R$ 9.000\nRO | R$ -"),
        ("insights", "Analise.\nEstado | Receita\nSP do Sul | R$ 9.000\nSP | R$ 600"),
        ("push", f"Escreva.\nProduto: {'c' * 90}\nOferta: {'d' * 90}"),
        ("push", "Escreva.\nProduto: coleiras {oferta}\nOferta: 20% de desconto"),
        ("push", "Escreva.\nProduto: coleiras\nOferta: 20% em https://x.io"),
    ],
)
def test_nothing_is_claimed_of_a_request_that_supports_nothing(task: TaskName, prompt: str) -> None:
    claim = {"coluna": "Receita", "fato": "maior", "valor": "R$ 9.000", "linha": "SP", "acao": ""}
    for answer in (json.dumps({"achados": [claim]}), "{produto}: {oferta}.", TASKS[task].answer({})):
        served = TASKS[task].serve(answer, prompt, None)
        assert (served.text, served.checked, served.parsed) == (None, False, None)
        assert served.reason


@pytest.mark.parametrize(("written", "fault"), CASES["an_object_that_is_not_as_asked_is_not_served"])
def test_an_object_that_is_not_as_asked_is_not_served(written: str, fault: str) -> None:
    served = TASKS["sentiment"].serve(written, "", None)
    assert (served.text, served.checked) == (None, False)
    assert (served.reason or "").startswith(fault)
    assert "João" not in (served.reason or "")


@pytest.mark.parametrize(("written", "text", "reason"), CASES["a_query_is_served_alone_once_it_ran"])
def test_a_query_is_served_alone_once_it_ran(
    written: str, text: str | None, reason: str | None, databases: Databases
) -> None:
    assert TASKS["sql_qa"].serve(written, "", databases)[:3] == (text, reason is None, reason)


@pytest.mark.parametrize("answer", ['{"polarity":"positive","score":1}', '{"polarity":"negative","score":5}'])
def test_a_sentiment_against_its_stars_is_not_checked(answer: str) -> None:
    assert TASKS["sentiment"].serve(answer, "", None)[:3] == (answer, False, "polarity e score se contradizem")
