import dataclasses
import json
from typing import Any

import polars as pl
import pytest

from schemas.prompts import PromptRow, content_id, prompt_table
from tasks.curate.quarantine import drop_duplicates, drop_schema_failures, drop_too_long
from tests.tasks.curate.prompt_rows import REFERENCES, independent_rows, prompt_row


def table_with(**values: Any) -> pl.DataFrame:
    """Return two good rows with a row between them that has other values, its id still that of its content."""
    first, second, third = independent_rows(push=3)
    broken = prompt_table([second]).with_columns(
        pl.lit(value, dtype=pl.String).alias(name) for name, value in values.items()
    )
    return pl.concat([prompt_table([first]), broken, prompt_table([third])])


def test_good_rows_of_every_task_pass() -> None:
    table = prompt_table(prompt_row(task, "pergunta", review_id="r1") for task in REFERENCES)
    kept, dropped = drop_schema_failures(table)
    assert kept.equals(table)
    assert dropped.is_empty()


@pytest.mark.parametrize(
    ("values", "failure"),
    [
        ({"prompt_id": "abc"}, "prompt_id: str_matches"),
        ({"prompt_id": "0" * 64}, "prompt_id_is_its_content"),
        ({"prompt": "another text"}, "prompt_id_is_its_content"),
        ({"prompt_id": None}, "prompt_id: not_nullable"),
        ({"task": "poetry"}, "task: isin"),
        ({"task": "churn"}, "reference_fits_its_task"),
        ({"system": ""}, "system: str_length"),
        ({"prompt": None}, "prompt: not_nullable"),
        ({"reference": "{"}, "reference_fits_its_task"),
        ({"reference": "[]"}, "reference_fits_its_task"),
        ({"reference": '{"product": "livro"}'}, "reference_fits_its_task"),
        ({"reference": '{"product": "livro", "offer": NaN}'}, "reference_fits_its_task"),
        ({"reference": '{"product": "livro", "offer": "\\ud800"}'}, "reference_fits_its_task"),
        ({"reference": "[" * 100_000}, "reference_fits_its_task"),
        ({"source": "elsewhere"}, "source: isin"),
        ({"parent_id": "parent"}, "parent_id: str_matches"),
    ],
)
def test_a_row_that_breaks_the_schema_is_dropped_alone(values: dict[str, str | None], failure: str) -> None:
    table = table_with(**values)
    kept, dropped = drop_schema_failures(table)
    assert kept.equals(table[[0, 2]])
    assert dropped.drop("reason", "detail").equals(table[[1]])
    assert dropped["reason"].to_list() == ["schema"]
    assert failure in dropped["detail"][0]


def test_all_failures_of_a_row_and_of_a_table_are_told() -> None:
    broken = table_with(task="poetry", source="elsewhere", system="")
    kept, dropped = drop_schema_failures(pl.concat([broken, table_with(prompt_id=None)]))
    assert kept.height == 4
    assert dropped.height == 2
    assert all(name in dropped["detail"][0] for name in ("task: isin", "source: isin", "system: str_length"))


def test_details_never_quote_the_shopper() -> None:
    _, dropped = drop_schema_failures(table_with(prompt="meu CPF é 529.982.247-25", source="elsewhere"))
    assert "529" not in dropped["detail"][0]


def test_system_and_prompt_count_together() -> None:
    table = prompt_table([prompt_row("push", "x" * 91), prompt_row("push", "é" * 92)])
    kept, dropped = drop_too_long(table, 100)
    assert kept.equals(table[[0]])
    assert dropped["detail"].to_list() == ["101 characters, 100 allowed"]


def test_the_first_of_equal_prompts_stays_and_is_named() -> None:
    first = prompt_row("push", "mesmo texto")
    other_reference = {"product": "bolsa", "offer": "20%"}
    again = dataclasses.replace(
        first,
        reference=other_reference,
        prompt_id=content_id("push", first.system, first.prompt, other_reference),
    )
    between: PromptRow = prompt_row("push", "outro texto")
    kept, dropped = drop_duplicates(prompt_table([first, between, again, first]))
    assert kept["prompt_id"].to_list() == [first.prompt_id, between.prompt_id]
    assert dropped["prompt_id"].to_list() == [again.prompt_id, first.prompt_id]
    assert dropped["detail"].to_list() == [f"the same text as {first.prompt_id}"] * 2
    assert json.loads(dropped["reference"][0]) == other_reference


def test_two_tasks_may_ask_with_the_same_text() -> None:
    table = prompt_table([prompt_row("sentiment", "Ótimo"), prompt_row("extraction", "Ótimo")])
    kept, dropped = drop_duplicates(table)
    assert kept.equals(table)
    assert dropped.is_empty()
