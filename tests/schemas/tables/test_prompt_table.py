import json
from typing import Any

import polars as pl
import pytest
from pandera.errors import SchemaErrors

from schemas.tables.prompt_table import Dataset, Prompts
from schemas.tables.prompts import COLUMNS, content_id


def table_of(*prompts: str, **values: Any) -> pl.DataFrame:
    """Return one row for each prompt; the values stand in every row."""
    known = {"sql": "SELECT 1"}
    rows = [
        {
            "prompt_id": content_id("sql_qa", "Responda.", prompt, known),
            "task": "sql_qa",
            "system": "Responda.",
            "prompt": prompt,
            "reference": json.dumps(known, separators=(",", ":")),
            "source": "simulated",
            **values,
        }
        for prompt in prompts
    ]
    return pl.DataFrame(rows, schema=COLUMNS)


def failures(model: Any, table: pl.DataFrame) -> set[tuple[str, int]]:
    with pytest.raises(SchemaErrors) as caught:
        model.validate(table, lazy=True)
    cases = caught.value.failure_cases
    return set(zip(cases["check"].str.extract(r"^(\w+)"), cases["index"], strict=True))


@pytest.mark.parametrize("source", ["", "Loja", "loja 2", "lójá", "x" * 41, "loja\n"])
def test_a_source_is_a_plain_name(source: str) -> None:
    assert failures(Prompts, table_of("Quantos?", source=source)) == {("str_matches", 0)}


def test_a_prompt_may_come_twice_but_is_once_in_a_dataset() -> None:
    table = table_of("Quantos?", "Quais?", "Quantos?")
    assert Prompts.validate(table, lazy=True).equals(table)
    assert failures(Dataset, table) == {("field_uniqueness", 0), ("field_uniqueness", 2)}
