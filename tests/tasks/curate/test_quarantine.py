from typing import Any

import polars as pl
import pytest

from schemas.config.train_sections import PolicyConfig
from tasks.curate.quarantine import drop_keys_given_twice, drop_schema_failures, drop_sql_that_fails, find_too_long
from tasks.policy.length import PromptLengths
from tests.cases import cases_of
from tests.prompt_tables import prompt_table
from tests.tasks.curate.prompt_rows import independent_rows, prompt_row

CASES = cases_of(__file__)


def table_with(**values: Any) -> pl.DataFrame:
    """Return two good rows with a row between them that has other values, its id still that of its content."""
    first, second, third = independent_rows(push=3)
    broken = prompt_table([second]).with_columns(
        pl.lit(value, dtype=pl.String).alias(name) for name, value in values.items()
    )
    return pl.concat([prompt_table([first]), broken, prompt_table([third])])


@pytest.mark.parametrize(
    ("values", "failure"),
    [
        ({"prompt_id": "abc"}, "prompt_id fails str_matches"),
        ({"prompt": "another text"}, "not true: prompt id is its content"),
        ({"prompt_id": None}, "prompt_id is empty"),
        ({"task": "poetry"}, "task fails isin"),
        ({"task": "churn"}, "not true: reference fits its task"),
        ({"system": ""}, "system fails str_length"),
        ({"reference": "[]"}, "not true: reference fits its task"),
        ({"reference": '{"product": "livro"}'}, "not true: reference fits its task"),
        ({"reference": '{"product": "livro", "offer": NaN}'}, "not true: reference fits its task"),
        ({"reference": '{"product": "livro", "offer": "\\ud800"}'}, "not true: reference fits its task"),
        ({"reference": "[" * 100_000}, "not true: reference fits its task"),
        ({"source": "else where"}, "source fails str_matches"),
        ({"parent_id": "parent"}, "parent_id fails str_matches"),
    ],
)
def test_a_row_that_breaks_the_schema_is_dropped_alone(values: dict[str, str | None], failure: str) -> None:
    table = table_with(**values)
    kept, dropped = drop_schema_failures(table)
    assert kept.equals(table[[0, 2]])
    assert dropped.drop("reason", "detail").equals(table[[1]])
    assert dropped["reason"].to_list() == ["schema"]
    assert failure in dropped["detail"][0]


def numbered(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(row=pl.int_range(1, 1 + pl.len(), dtype=pl.UInt32))


def test_a_row_whose_line_gave_a_key_twice_is_dropped_and_no_json_is_left_to_the_schema() -> None:
    table = numbered(table_with(reference="{"))
    kept, dropped = drop_keys_given_twice(table, frozenset({3}))
    assert kept["row"].to_list() == [1, 2]
    assert dropped["row"].to_list() == [3]


@pytest.mark.parametrize(("sql", "fault"), CASES["a_reference_whose_query_fails_is_dropped_alone"])
def test_a_reference_whose_query_fails_is_dropped_alone(sql: str, fault: str) -> None:
    good = "SELECT customer_state, COUNT(*) FROM orders JOIN customers USING (customer_id) GROUP BY 1"
    rows = [prompt_row("sql_qa", "?", {"sql": text}) for text in (good, sql, None)]
    table = prompt_table([*rows, prompt_row("push", "?")])
    kept, dropped = drop_sql_that_fails(table)
    assert kept.equals(table[[0, 2, 3]])
    assert dropped["reason"].to_list() == ["sql fails"]
    assert fault in dropped["detail"][0]
    assert sql not in dropped["detail"][0]


LENGTHS = PromptLengths.of(PolicyConfig(stand_in=True))


def test_system_text_and_template_count_and_the_border_is_within() -> None:
    table = prompt_table([prompt_row("push", "1" * 91), prompt_row("push", "1" * 92)])
    shorter, longer = LENGTHS.tokens(table)
    assert longer == shorter + 1
    assert find_too_long(table, LENGTHS, shorter).to_list() == [None, f"{longer} tokens, {shorter} allowed"]
    assert find_too_long(table, LENGTHS, longer).to_list() == [None, None]
