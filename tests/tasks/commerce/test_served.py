"""What is served of an answer: all of it where it holds, what holds of it, a plain one in its place, or nothing."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS
from tasks.commerce.sql_qa.sandbox import Databases

CASES = json.loads(Path(__file__).with_name("served_cases.json").read_text(encoding="utf-8"))
SENTIMENT = {"polarity": "negative", "score": 1}
JSON_TASKS = [name for name in TASK_NAMES if TASKS[name].schema is not None]
PROMPTS: dict[TaskName, str] = {
    "extraction": "Extraia os campos.\nAvaliação: Demorou e veio quebrado",
    "insights": "Analise.\nEstado | Receita | Pedidos\nSP | R$ 9.000 | 90\nRO | R$ 600 | 9",
    "push": "Escreva.\nProduto: coleiras\nOferta: 20% de desconto\nPúblico: todos",
    "churn": "Este cliente volta?\nPedidos: 1\nDias desde a última compra: 200\nNota média: 5,0",
}
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


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (f"Claro! {json.dumps(SENTIMENT)}", "a resposta não é só um objeto"),
        ('{"polarity": "negative"}', "os campos não são os pedidos: polarity, score"),
        (json.dumps({**SENTIMENT, "João da Silva": 1}), "os campos não são os pedidos: polarity, score"),
        (json.dumps({**SENTIMENT, "score": 9}), "valores fora dos permitidos: score"),
        (json.dumps({**SENTIMENT, "score": True}), "valores fora dos permitidos: score"),
        ('{"polarity": "negative", "score": 1', "a resposta não é só um objeto"),
        ("Não posso responder.", "a resposta não é só um objeto"),
    ],
)
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


def test_an_object_is_served_with_the_fields_of_its_schema() -> None:
    for task, known in TASKS.items():
        if known.schema is not None:
            answer = known.answer({"profile": {"Pedidos": "1", "Nota média": "5,0"}})
            served = known.serve(answer, PROMPTS.get(task, ""), None)
            assert list(json.loads(served.text or "")) == known.schema["required"], task


@pytest.mark.parametrize("fields", [{"polarity": "positive", "score": 1}, {"polarity": "negative", "score": 5}])
def test_a_sentiment_against_its_stars_is_not_checked(fields: dict[str, object]) -> None:
    served = TASKS["sentiment"].serve(json.dumps(fields), PROMPTS.get("sentiment", ""), None)
    assert not served.checked and served.reason == "polarity e score se contradizem"
