"""Ground truth of SQL: rows against rows."""

import pytest

from schemas.documents import Rollout
from schemas.errors import InputError
from tasks.commerce.sql_qa.sandbox import Databases, Execution, Row
from tasks.commerce.sql_qa.truth import is_ordered, is_right, metric, same_rows

SQL = (
    "SELECT customer_state, ROUND(AVG(price), 2) FROM items JOIN orders USING (order_id) "
    "JOIN customers USING (customer_id) GROUP BY 1 ORDER BY 2 DESC"
)


def result(*rows: Row) -> Execution:
    return Execution(None, len(rows[0]) if rows else 1, rows, frozenset())


def test_rows_are_a_multiset_where_nothing_orders_them() -> None:
    one, other = ("a", 1), ("b", 2)
    assert same_rows(result(one, other), result(other, one), ordered=False)
    assert not same_rows(result(one, other), result(other, one), ordered=True)
    assert not same_rows(result(one, one, other), result(one, other, other), ordered=False)


def test_numbers_are_equal_within_half_a_cent_and_texts_of_numbers_are_numbers() -> None:
    assert same_rows(result((1.234,)), result((1.23,)), ordered=False)
    assert not same_rows(result((1.24,)), result((1.23,)), ordered=False)
    assert same_rows(result(("07",), ("4.50",)), result((7,), (4.5,)), ordered=True)
    assert not same_rows(result((None,)), result((0,)), ordered=False)
    assert not same_rows(result(("a", 1)), result((1, "a")), ordered=False)


def test_the_order_that_counts_is_the_querys_own() -> None:
    assert is_ordered("SELECT a FROM t ORDER BY 1")
    assert not is_ordered("SELECT a FROM (SELECT a FROM t ORDER BY 1)")
    assert not is_ordered("SELECT ' order by ' FROM t")


@pytest.mark.parametrize(("completion", "right"), [
    (SQL, True), (f"{SQL};", True), (f"```sql\n{SQL}\n```", True), (SQL.lower(), True),
    (SQL.replace("ROUND(AVG(price), 2)", "AVG(price)"), True),
    (SQL.replace(" DESC", ""), False), (f"{SQL}; {SQL}", False), (f"Segue: {SQL}", False),
    (f"{SQL}\n\nEspero ter ajudado!", False),
    (f"```sql\n{SQL}\n```\nPronto!", False), ("DROP TABLE orders", False), ("", False), ("SELECT 1", False),
    (SQL + " " * 5_000 + "--", False),
])  # fmt: skip
def test_an_answer_is_one_query_with_the_references_rows(completion: str, right: bool, databases: Databases) -> None:
    assert is_right(completion, SQL, databases) is right


def test_a_reference_that_does_not_run_and_a_missing_store_are_named(databases: Databases) -> None:
    with pytest.raises(InputError, match="does not run"):
        is_right(SQL, "SELECT nothing", databases)
    rollout = Rollout(prompt_id="p", task="sql_qa", prompt="?", completion=SQL, reference={"sql": SQL})
    with pytest.raises(InputError, match="no store"):
        metric([rollout], None)
