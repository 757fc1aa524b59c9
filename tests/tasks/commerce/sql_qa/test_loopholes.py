"""Queries that would be paid without the work: constants by size, two statements, names that talk, order by chance."""
# ruff: noqa: S608 - the queries are answers, and ours

from collections.abc import Sequence

import pytest

from tasks.commerce.example import Example
from tasks.commerce.sql_qa.query_text import names_explain, orders_rows
from tasks.commerce.sql_qa.sandbox import TABLES, Databases
from tests.cases import cases_of
from tests.tasks.commerce.scoring import score

CASES = cases_of(__file__)
MONTHS = (
    "SELECT strftime('%m', order_purchase_timestamp), COUNT(*) FROM orders WHERE order_status = 'delivered' GROUP BY 1"
)


def reward(completion: str, reference: str, databases: Databases) -> float:
    return score("sql_qa", completion, {"sql": reference}, "", databases).reward


@pytest.mark.parametrize("table", TABLES)
def test_constants_chosen_by_the_size_of_a_table_are_never_right(
    table: str, examples: Sequence[Example], copies: Databases
) -> None:
    sizes = [copy.execute(f"SELECT COUNT(*) FROM {table}").rows[0][0] for copy in copies.copies]
    tried = 0
    for example in examples[:120]:
        sql = example.reference["sql"]
        results = [copy.execute(sql).rows for copy in copies.copies]
        if any(len(rows) != 1 or len(rows[0]) != 1 or isinstance(rows[0][0], str) for rows in results):
            continue
        tried += 1
        cases = " ".join(
            f"WHEN {size!r} THEN {rows[0][0]!r}"
            for size, rows in zip(sizes, results, strict=True)
            if rows[0][0] is not None
        )
        told_apart = f"SELECT CASE (SELECT COUNT(*) FROM {table}) {cases} END"
        assert score("sql_qa", told_apart, example.reference, example.prompt, copies).components["result"] < 0.9
    assert tried > 20


@pytest.mark.parametrize("united", CASES["united"])
def test_a_second_statement_by_union_earns_at_most_two_fifths(united: str, copies: Databases) -> None:
    assert copies.copies[0].execute(united).refusal is None
    assert 0 < reward(united, MONTHS, copies) <= 0.4
    assert reward(united, united, copies) == pytest.approx(1.0)


def test_order_that_nothing_asks_for_is_order_by_chance(copies: Databases) -> None:
    ordered = f"{MONTHS} ORDER BY 1"
    by_chance = score("sql_qa", MONTHS, {"sql": ordered}, "", copies)
    assert copies.run(MONTHS)[0].rows == copies.run(ordered)[0].rows
    assert by_chance.components["result"] == 0.8
    for asked in (f"SELECT * FROM ({ordered})", f"WITH m AS ({ordered}) SELECT * FROM m", f"{MONTHS} ORDER BY 1 ASC"):
        assert score("sql_qa", asked, {"sql": ordered}, "", copies).components["result"] == 1.0, asked
    assert reward(ordered, MONTHS, copies) == pytest.approx(1.0)


@pytest.mark.parametrize(("sql", "orders"), CASES["orders"])
def test_an_order_within_a_window_orders_no_rows(sql: str, orders: bool) -> None:
    assert orders_rows(sql) is orders


@pytest.mark.parametrize(("name", "explains"), CASES["names"])
def test_a_name_says_what_it_names(name: str, explains: bool, copies: Databases) -> None:
    sql = f"SELECT COUNT(*) AS {name} FROM orders o WHERE o.order_status = 'um chefe burro'"
    assert names_explain(sql, "", copies.names) is explains
    kept = reward(f"SELECT COUNT(*) AS {name} FROM orders", "SELECT COUNT(*) FROM orders", copies)
    assert (kept > 0.99) is explains
    assert explains or kept < 0.5
