# ruff: noqa: S608 - the queries are answers, and ours

import random

import pytest

from schemas.errors import InputError
from schemas.store import Store
from tasks.commerce.sandbox import Databases
from tasks.commerce.sql_qa import TASK, proves_something
from tests.tasks.commerce.scoring import score

SQL = (
    "SELECT customer_state, ROUND(AVG(price), 2) FROM items JOIN orders USING (order_id) "
    "JOIN customers USING (customer_id) WHERE order_status = 'delivered' GROUP BY 1 ORDER BY 2 DESC"
)
ON_CLAUSES = (
    "SELECT c.customer_state, ROUND(AVG(i.price), 2) AS media FROM customers c JOIN orders o ON o.customer_id = "
    "c.customer_id JOIN items i ON i.order_id = o.order_id WHERE o.order_status = 'delivered' "
    "GROUP BY c.customer_state ORDER BY media DESC"
)
REFERENCE = {"sql": SQL}


def reward(completion: str, databases: Databases) -> float:
    return score("sql_qa", completion, REFERENCE, "", databases).reward


@pytest.mark.parametrize("same", [
    SQL + ";",
    SQL.lower(),
    SQL.replace(" ", "\n  "),
    SQL.replace("ROUND(AVG(price), 2)", "AVG(price)"),
    ON_CLAUSES,
])  # fmt: skip
def test_the_same_result_earns_the_same(same: str, databases: Databases) -> None:
    assert reward(same, databases) == reward(SQL, databases) == pytest.approx(1.0)


def test_nearer_queries_earn_more(databases: Databases) -> None:
    queries = [
        SQL,
        SQL.replace(" DESC", ""),
        SQL.replace("WHERE order_status = 'delivered' ", ""),
        "SELECT customer_state, COUNT(*) FROM customers GROUP BY 1",
        "SELECT * FROM orders",
        "SELECT price FORM items",
        "SELECT",
    ]
    rewards = [reward(query, databases) for query in queries]
    assert rewards == sorted(rewards, reverse=True)
    assert len(set(rewards)) == len(rewards)


def test_a_constant_that_is_right_on_one_copy_is_wrong_on_the_other(databases: Databases) -> None:
    reference = {"sql": "SELECT COUNT(*) FROM orders WHERE order_status = 'delivered'"}
    count = f"{databases.run(reference['sql'])[0].rows[0][0]!r}"
    disguised = f"SELECT {count} FROM orders WHERE order_status = 'x' OR 1 LIMIT 1"
    assert score("sql_qa", disguised, reference, "", databases).components["result"] < 0.5
    assert score("sql_qa", f"SELECT {count}", reference, "", databases).reward < 0.15


@pytest.mark.parametrize(("completion", "form"), [
    (f"```sql\n{SQL}\n```", 0.7), (f"Claro! Segue a consulta:\n{SQL}", 0.7), (f"{SQL}\n\nEla calcula a média.", 0.7),
    (f"{SQL}\nQualquer dúvida, estou à disposição.", 0.7), (SQL, 1.01),
])  # fmt: skip
def test_the_query_is_found_and_what_surrounds_it_costs(completion: str, form: float, databases: Databases) -> None:
    components = score("sql_qa", completion, REFERENCE, "", databases).components
    assert components["result"] == 1.0
    assert 0.3 < components["form"] < form


def test_the_order_counts_only_where_the_reference_orders(databases: Databases) -> None:
    unordered = {"sql": SQL.partition(" ORDER BY")[0]}
    backwards = SQL.replace(" DESC", "")
    assert score("sql_qa", backwards, unordered, "", databases).components["result"] == 1.0
    assert score("sql_qa", backwards, REFERENCE, "", databases).components["result"] == 0.8


def test_rows_are_compared_as_multisets(databases: Databases) -> None:
    reference = {"sql": "SELECT customer_state FROM customers"}
    assert (
        score("sql_qa", "SELECT DISTINCT customer_state FROM customers", reference, "", databases).components["result"]
        < 0.7
    )
    assert (
        score("sql_qa", "SELECT customer_state FROM customers ORDER BY 1", reference, "", databases).components[
            "result"
        ]
        == 1.0
    )


def test_a_query_that_would_write_earns_nothing(databases: Databases) -> None:
    assert reward("DROP TABLE orders", databases) == 0.0
    assert reward("WITH x AS (SELECT 1) DELETE FROM orders", databases) < 0.15


def test_without_a_reference_a_running_query_is_all_that_is_known(databases: Databases) -> None:
    assert score("sql_qa", SQL, None, "", databases).reward == pytest.approx(1.0)
    assert score("sql_qa", "SELECT 1", None, "", databases).reward == 0.0


def test_without_a_store_or_with_a_broken_reference_there_is_no_score(databases: Databases) -> None:
    with pytest.raises(InputError, match="no store was given"):
        score("sql_qa", SQL, REFERENCE)
    with pytest.raises(InputError, match="does not run"):
        score("sql_qa", SQL, {"sql": "SELECT x FROM y"}, "", databases)


def test_examples_have_answers_on_both_copies(store: Store, databases: Databases) -> None:
    examples = list(TASK.examples(store, random.Random(2), 60))
    assert len(examples) == 60
    for example in examples:
        assert proves_something(databases.run_reference(example.reference["sql"]))


def test_the_metric_is_execution_accuracy(databases: Databases) -> None:
    rollouts = [
        score("sql_qa", completion, REFERENCE, "", databases) for completion in (SQL, "SELECT 1", "nada", SQL.lower())
    ]
    assert TASK.metric(rollouts, databases) == {"execution_accuracy": 0.5}
