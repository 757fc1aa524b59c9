import random

import pytest

from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.sql_qa.task import MAX_ERROR, feedback
from tasks.synthesize.simulated import simulate_store


@pytest.fixture(scope="module")
def databases() -> Databases:
    return Databases.from_store(simulate_store(200, random.Random(3)))


def test_a_query_with_a_result_right_or_wrong_is_shown_nothing(databases: Databases) -> None:
    assert feedback("SELECT COUNT(*) FROM orders", databases) is None
    assert feedback("SELECT 0", databases) is None


@pytest.mark.parametrize(
    ("completion", "shown"),
    [
        ("SELECT preco FROM items", "falhou: no such column: preco."),
        ("SELECT SUM(price FROM items", 'falhou: near "FROM": syntax error.'),
        ("não sei", "falhou: "),
        ("", "falhou: incomplete input."),
        ("SELECT order_id FROM orders WHERE 1 = 0", "não devolveu nenhum valor"),
        ("SELECT SUM(price) FROM items WHERE 1 = 0", "não devolveu nenhum valor"),
        ("SELECT load_extension('x')", "recusada"),
        ("SELECT * FROM sqlite_master", "recusada"),
        ("SELECT * FROM orders, items, reviews", "recusada"),
    ],
)
def test_a_query_without_a_result_is_shown_why(completion: str, shown: str, databases: Databases) -> None:
    assert shown in (feedback(completion, databases) or "")


def test_an_error_is_cut_and_in_one_line_and_holds_no_value_of_the_store(databases: Databases) -> None:
    (status,) = databases.copies[0].execute("SELECT order_status FROM orders LIMIT 1").rows[0]
    shown = feedback("SELECT " + "x" * 300 + "\n\nFROM orders", databases)
    assert shown is not None
    assert len(shown) < MAX_ERROR + 80
    assert "\n" not in shown
    assert str(status) not in (feedback("SELECT CAST(order_status AS INTEGER).x FROM orders", databases) or "")
