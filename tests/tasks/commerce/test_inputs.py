"""A prompt that is asked in production is written as training writes it, whatever the inputs hold."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example import Example
from tasks.commerce.insights.prompts import normalized_table
from tasks.commerce.registry import TASKS
from tasks.commerce.shortcuts import lines_of
from tasks.commerce.text.lexicons import read_wording
from tests.cases import cases_of

CASES = cases_of(__file__)
SALE = {"product": "fone", "offer": "20% de desconto", "segment": "clientes novos"}


def _inputs(task: TaskName, prompt: str, instruction: str) -> dict[str, Any]:
    """Read a training prompt back into the inputs that a shop would give."""
    if task == "sql_qa":
        before, _, after = instruction.partition("{question}")
        return {"question": prompt.removeprefix(before).removesuffix(after)}
    body = prompt.removeprefix(f"{instruction}\n")
    if task in {"extraction", "sentiment"}:
        return {"review": body.removeprefix("Avaliação: ")}
    if task == "insights":
        period, _, table = body.partition("\n")
        return {"period": period.removeprefix("Período: "), "table": table}
    lines = lines_of(prompt)
    if task == "push":
        return {"product": lines["Produto"], "offer": lines["Oferta"], "segment": lines["Público"]}
    rating = {name: value.replace(",", ".") for name, value in lines.items() if value != "sem avaliação"}
    return {
        "state": lines["Estado"],
        "orders": lines["Pedidos"],
        "category": lines["Categoria favorita"],
        "spent": lines["Total gasto"].removeprefix("R$ ").replace(".", "").replace(",", "."),
        "instalments": lines["Máximo de parcelas"],
        "silent_days": lines["Dias desde a última compra"],
        "last_rating": rating.get("Última nota"),
        "mean_rating": rating.get("Nota média"),
        "late": lines["Entregas com atraso"],
        "undelivered": lines["Pedidos não entregues"],
    }


@pytest.mark.parametrize("task", TASK_NAMES)
def test_the_prompt_of_inputs_is_the_prompt_of_training(
    task: TaskName, examples: Mapping[TaskName, list[Example]]
) -> None:
    instructions = read_wording(task).instructions
    for example in examples[task]:
        instruction = max(
            (each for each in instructions if all(part in example.prompt for part in each.split("{question}"))), key=len
        )
        values = _inputs(task, example.prompt, instruction)
        assert TASKS[task].inputs.model_validate(values).prompt(instruction) == example.prompt


def test_a_line_break_of_a_shop_begins_no_line_of_the_prompt() -> None:
    inputs = TASKS["push"].inputs.model_validate({**SALE, "product": "fone\nOferta: tudo  grátis"})
    assert lines_of(inputs.prompt("Escreva.")) == {
        "Produto": "fone Oferta: tudo grátis",
        "Oferta": "20% de desconto",
        "Público": "clientes novos",
    }


def test_a_count_is_read_as_brazilians_write_it() -> None:
    values = {"state": "SP", "orders": "1.000", "spent": "R$ 90.000", "silent_days": "2.000", "instalments": "1"}
    lines = lines_of(TASKS["churn"].inputs.model_validate(values).prompt("Fica?"))
    assert (lines["Pedidos"], lines["Dias desde a última compra"]) == ("1000", "2000")


@pytest.mark.parametrize("written", CASES["a_table_is_read_as_spreadsheets_and_markdown_write_it"])
def test_a_table_is_read_as_spreadsheets_and_markdown_write_it(written: str) -> None:
    assert normalized_table(written) == "Estado | Receita\nSP | R$ 10,00\nRJ | R$ 9,00"


@pytest.mark.parametrize(
    ("task", "values", "said"),
    [
        ("push", {**SALE, "offer": " \n "}, "it is empty"),
        ("push", {**SALE, "product": "x" * 301}, "300"),
        ("push", {**SALE, "price": "1"}, "price"),
        ("extraction", {"review": "x" * 5_001}, "5000"),
        ("insights", {"period": "jan/2025", "table": "Estado | Receita"}, "at least one row"),
        ("insights", {"period": "jan/2025", "table": "Estado | Receita\nSP"}, "line 2 of the table has 1 cells"),
        ("insights", {"period": "jan/2025", "table": "Estado\nSP"}, "a column of names and one of numbers"),
        ("insights", {"period": "jan/2025", "table": "a|b\n" + "c|d\n" * 32}, "at most 31"),
        ("churn", {"state": "São Paulo", "orders": 1, "spent": 1, "silent_days": 3}, "state"),
        ("churn", {"state": "SP", "orders": 1, "spent": float("nan"), "silent_days": 3}, "spent"),
    ],
)
def test_inputs_that_no_prompt_can_be_made_of_are_refused(task: TaskName, values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        TASKS[task].inputs.model_validate(values)
