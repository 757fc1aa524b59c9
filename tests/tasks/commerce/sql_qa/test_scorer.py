import re
from collections.abc import Callable, Sequence

import pytest

from schemas.errors import InputError
from tasks.commerce.example import Example
from tasks.commerce.sql_qa.prompts import proves_something
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.sql_qa.task import TASK
from tasks.commerce.text.lexicons import read_lexicon
from tests.tasks.commerce.scoring import score

SQL = (
    "SELECT customer_state, ROUND(AVG(price), 2) FROM items JOIN orders USING (order_id) "
    "JOIN customers USING (customer_id) WHERE order_status = 'delivered' GROUP BY 1 ORDER BY 2 DESC"
)
REFERENCE = {"sql": SQL}
EXPLAINED = "Claro! Segue a consulta com SELECT e JOIN:\n\n```sql\n{};\n```\n\nEla filtra os pedidos e calcula o valor."


def reward(completion: str, databases: Databases, reference: dict[str, str] = REFERENCE) -> float:
    return score("sql_qa", completion, reference, "", databases).reward


# The alterations of an audit have others, of which `tests/tasks/audit/alterations/scores` records what they earn.
FORMS: dict[str, tuple[Callable[[str], str], float, float]] = {
    "alias": (lambda sql: sql if "(SELECT" in sql else sql.replace(" FROM", " AS resposta FROM", 1), 1.0, 1.0),
    "order not asked for": (lambda sql: sql if "ORDER BY" in sql else f"{sql} ORDER BY 1", 1.0, 1.0),
    "comment": (lambda sql: f"-- total por categoria\n{sql}", 0.93, 1.0),
    "formatted": (
        # A text is sorted as one.
        lambda sql: sql if "ORDER BY" in sql else re.sub(r"ROUND\((\w+\(\w+\)), 2\)", r"printf('%.2f', \1)", sql),
        1.0,
        1.0,
    ),
    "comment of other things": (lambda sql: f"{sql} -- feito para um chefe burro", 0.43, 0.5),
    "explanation around a fence": (EXPLAINED.format, 0.43, 0.5),
}


@pytest.mark.parametrize("form", FORMS)
def test_another_form_of_the_right_answer_costs_its_form_only(
    form: str, examples: Sequence[Example], copies: Databases
) -> None:
    change, least, most = FORMS[form]
    queries = [each.reference["sql"] for each in examples]
    earned = [reward(new, copies, {"sql": sql}) for sql in queries if (new := change(sql)) != sql]
    assert len(earned) > 20
    assert least - 1e-9 <= min(earned) <= max(earned) <= most + 1e-9


def test_without_a_reference_a_running_query_is_all_that_is_known(databases: Databases) -> None:
    for reference in (None, {"sql": None}):
        assert score("sql_qa", SQL, reference, "", databases).reward == pytest.approx(1.0)
        assert score("sql_qa", "SELECT 1", reference, "", databases).reward == 0.0


def test_without_a_store_or_with_a_broken_reference_there_is_no_score(databases: Databases) -> None:
    with pytest.raises(InputError, match="no store was given"):
        score("sql_qa", SQL, REFERENCE)
    with pytest.raises(InputError, match="does not run"):
        score("sql_qa", SQL, {"sql": "SELECT x FROM y"}, "", databases)


def test_a_condition_that_changes_nothing_proves_nothing(databases: Databases) -> None:
    assert proves_something("SELECT COUNT(*) FROM items WHERE price > 300", databases)
    assert not proves_something("SELECT COUNT(*) FROM items WHERE price > 0", databases)
    assert not proves_something("SELECT COUNT(*) FROM items WHERE price > 300 AND freight_value > 0", databases)
    assert not proves_something("SELECT COUNT(*) FROM items WHERE price > 100000", databases)
    assert not proves_something("SELECT COUNT(DISTINCT customer_state) FROM customers", databases)


def test_the_metric_is_execution_accuracy(databases: Databases) -> None:
    completions = (SQL, "SELECT 1", "nada", SQL.lower(), f"```sql\n{SQL}\n```", EXPLAINED.format(SQL))
    rollouts = [score("sql_qa", completion, REFERENCE, "", databases) for completion in completions]
    assert TASK.metric(rollouts, databases) == {"execution_accuracy": 0.5}


V42 = TASK.rewards["v4.2"]
FULL = f"{SQL}\n\nA consulta mostra a média dos preços por estado, e a loja vendeu 120 pedidos a 35 clientes em 2017."


def test_v42_has_the_four_tiers_of_the_report() -> None:
    assert V42.weights == {"structure": 0.30, "explanation": 0.25, "numbers": 0.25, "domain": 0.20}
    assert len(read_lexicon("business_words")) == 30
    full, empty = (V42.total(V42.score(each, "", None, None).components) for each in (FULL, ""))
    assert (full, empty) == (pytest.approx(1.0), 0.0)


def test_the_order_counts_only_where_the_reference_orders(databases: Databases) -> None:
    unordered = {"sql": SQL.partition(" ORDER BY")[0]}
    backwards = SQL.replace(" DESC", "")
    assert score("sql_qa", backwards, unordered, "", databases).components["result"] == 1.0
    assert score("sql_qa", backwards, REFERENCE, "", databases).components["result"] == 0.8
