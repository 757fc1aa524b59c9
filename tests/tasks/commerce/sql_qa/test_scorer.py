# ruff: noqa: S608 - the queries are answers, and ours
import random
import re
import statistics
from collections.abc import Callable, Sequence

import pytest

from schemas.errors import InputError
from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.sql_qa import prompts as sql_qa_prompts
from tasks.commerce.sql_qa.prompts import WORDING, proves_something, read_families
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.sql_qa.task import TASK
from tasks.commerce.text.lexicons import read_lexicon
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
WITH_CLAUSE = (
    "WITH vendas AS (SELECT customer_state AS estado, price FROM customers NATURAL JOIN orders NATURAL JOIN items "
    "WHERE order_status LIKE 'delivered') SELECT estado, AVG(price) FROM vendas GROUP BY estado ORDER BY 2 DESC"
)
REFERENCE = {"sql": SQL}
EXPLAINED = "Claro! Segue a consulta com SELECT e JOIN:\n\n```sql\n{};\n```\n\nEla filtra os pedidos e calcula o valor."


def reward(completion: str, databases: Databases, reference: dict[str, str] = REFERENCE) -> float:
    return score("sql_qa", completion, reference, "", databases).reward


def rewards(examples: Sequence[Example], change: Callable[[str], str], databases: Databases) -> list[float]:
    """Score each example's changed answer; what a change leaves as it was is left out."""
    changed = [(example.reference["sql"], change(example.reference["sql"]), example.reference) for example in examples]
    return [reward(new, databases, dict(reference)) for sql, new, reference in changed if new != sql]


def unfiltered(sql: str) -> str:
    return sql if "(SELECT" in sql else re.sub(r" WHERE (?!\w+ IS NOT NULL GROUP).*?(?= GROUP|$)", "", sql)


@pytest.mark.parametrize("same", [
    SQL + ";", SQL.lower(), SQL.replace(" ", "\n  "), SQL.replace("ROUND(AVG(price), 2)", "AVG(price)"), ON_CLAUSES,
    WITH_CLAUSE, SQL.replace("'delivered'", '"delivered"'),
])  # fmt: skip
def test_the_same_result_earns_the_same(same: str, databases: Databases) -> None:
    assert reward(same, databases) == reward(SQL, databases) == pytest.approx(1.0)


def crossed(sql: str) -> str:
    return (
        sql
        if unfiltered(sql) == sql or "JOIN" not in sql
        else re.sub(r" JOIN (\w+) USING \(\w+\)", r", \1", unfiltered(sql))
    )


FORMS: dict[str, tuple[Callable[[str], str], float, float]] = {
    "semicolon": (lambda sql: f"{sql};", 1.0, 1.0),
    "lines": (lambda sql: re.sub(r" (FROM|WHERE|GROUP|JOIN)\b", r"\n\1", sql), 1.0, 1.0),
    "alias": (lambda sql: sql if "(SELECT" in sql else sql.replace(" FROM", " AS resposta FROM", 1), 1.0, 1.0),
    "order not asked for": (lambda sql: sql if "ORDER BY" in sql else f"{sql} ORDER BY 1", 1.0, 1.0),
    "unrounded": (
        lambda sql: re.sub(r"ROUND\((.*), 2\) FROM", r"\1 FROM", sql) if sql.count("ROUND") == 1 else sql,
        1.0,
        1.0,
    ),
    "comment": (lambda sql: f"-- total por categoria\n{sql}", 0.93, 1.0),
    "formatted": (
        # A text is sorted as one.
        lambda sql: sql if "ORDER BY" in sql else re.sub(r"ROUND\((\w+\(\w+\)), 2\)", r"printf('%.2f', \1)", sql),
        1.0,
        1.0,
    ),
    "comment of other things": (lambda sql: f"{sql} -- feito para um chefe burro", 0.43, 0.5),
    "fence": (lambda sql: f"```sql\n{sql};\n```", 0.99, 0.99),
    "explanation after": (lambda sql: f"{sql}\n\nEla filtra os pedidos e calcula o valor.", 0.43, 0.5),
    "explanation on the next line": (lambda sql: f"{sql}\nEla filtra os pedidos e calcula o valor.", 0.43, 0.5),
    "explanation around a fence": (EXPLAINED.format, 0.43, 0.5),
    "long explanation": (lambda sql: f"{sql}\n" + "Ela filtra os pedidos. " * 80, 0.43, 0.5),
}


@pytest.mark.parametrize("form", FORMS)
def test_another_form_of_the_right_answer_costs_its_form_only(
    form: str, examples: Sequence[Example], copies: Databases
) -> None:
    change, least, most = FORMS[form]
    earned = rewards(examples, change, copies)
    assert len(earned) > 20
    assert least - 1e-9 <= min(earned) <= max(earned) <= most + 1e-9


ONE_ANSWER = "SELECT ROUND(SUM(price), 2) FROM items JOIN products USING (product_id) WHERE product_category_name = 'x'"
CEILINGS: dict[str, tuple[Callable[[str], str], float, float]] = {
    "cross join without the filter": (crossed, 0.20, 0.30),
    "no filter": (unfiltered, 0.25, 0.55),
    "no condition on the right value": (lambda sql: re.sub(r"'(?!%)[^']+'", "'zzz'", sql), 0.30, 0.45),
    "a column too many": (lambda sql: sql.replace(" FROM", ", 1 FROM", 1), 0.50, 0.55),
    "first quarter": (lambda sql: sql[: len(sql) // 4], 0.05, 0.20),
    "first half": (lambda sql: sql[: len(sql) // 2], 0.10, 0.45),
    "first three quarters": (lambda sql: sql[: len(sql) * 3 // 4], 0.20, 0.60),
    "one answer for all": (lambda _: ONE_ANSWER, 0.10, 0.40),
    "all of a table": (lambda _: "SELECT * FROM orders", 0.05, 0.15),
    "nothing": (lambda _: "", 0.0, 0.0),
    "refusal": (lambda _: "Desculpe, não posso ajudar com isso.", 0.0, 0.01),
    "refusal in English": (lambda _: "I'm sorry, but I can't help with that.", 0.0, 0.01),
    "bare": (lambda _: "SELECT", 0.0, 0.0),
    "constant": (lambda _: "SELECT 1", 0.02, 0.15),
    "system prompt": (lambda _: WORDING.system, 0.05, 0.10),
    "padding": (lambda sql: "SELECT " + "x" * 50_000 + sql, 0.05, 0.10),
    "keywords": (lambda _: "SELECT COUNT SUM FROM orders JOIN items WHERE price GROUP BY ORDER BY LIMIT", 0.05, 0.10),
    "English": (lambda _: "You can count the rows of the orders table for each customer_state.", 0.05, 0.10),
    "write": (lambda sql: f"```sql\nDELETE FROM orders; -- {sql}\n```", 0.0, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("kind", CEILINGS)
def test_a_wrong_query_stays_under_its_ceiling(kind: str, examples: Sequence[Example], copies: Databases) -> None:
    change, mean, most = CEILINGS[kind]
    earned = rewards(examples, change, copies)
    assert len(earned) > 20
    assert statistics.mean(earned) <= mean + 1e-9
    assert max(earned) <= most


def test_prompt_echoes_earn_next_to_nothing(examples: Sequence[Example], copies: Databases) -> None:
    for example in examples:
        for echo in (example.prompt, f"{example.system}\n{example.prompt}"):
            assert reward(echo, copies, dict(example.reference)) < 0.10


def test_the_answer_of_one_copy_as_a_constant_earns_next_to_nothing(
    examples: Sequence[Example], copies: Databases
) -> None:
    for example in examples:
        row = copies.copies[0].execute(example.reference["sql"]).rows[0]
        cells = ", ".join("NULL" if cell is None else repr(cell) for cell in row)
        table = re.findall(r"FROM (\w+)", example.reference["sql"])[0]
        for sql, most in ((f"SELECT {cells}", 0.20), (f"SELECT {cells} FROM {table} LIMIT 1", 0.30)):
            assert reward(sql, copies, dict(example.reference)) < most


def test_the_order_counts_only_where_the_reference_orders(databases: Databases) -> None:
    unordered = {"sql": SQL.partition(" ORDER BY")[0]}
    backwards = SQL.replace(" DESC", "")
    assert score("sql_qa", backwards, unordered, "", databases).components["result"] == 1.0
    assert score("sql_qa", backwards, REFERENCE, "", databases).components["result"] == 0.8


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


def test_examples_end_where_every_question_is_asked_in_every_wording(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = tuple(family for family in read_families() if family.name in ("orders_by_month", "reviews_by_stars"))
    monkeypatch.setattr("tasks.commerce.sql_qa.prompts.read_families", lambda: few)
    made = [example.prompt for example in sql_qa_prompts.examples(store, random.Random(1), 10**9)]
    ways = 2 * len(WORDING.instructions)
    assert len(made) == len(set(made)) > 5 * ways
    assert len(made) % ways == 0


def test_the_metric_is_execution_accuracy_and_reads_no_score(databases: Databases) -> None:
    completions = (SQL, "SELECT 1", "nada", SQL.lower(), f"```sql\n{SQL}\n```", EXPLAINED.format(SQL))
    rollouts = [score("sql_qa", completion, REFERENCE, "", databases) for completion in completions]
    assert TASK.metric(rollouts, databases) == {"execution_accuracy": 0.5}
    other = [rollout.model_copy(update={"components": {}, "parsed": None, "spec": "v4.2"}) for rollout in rollouts]
    assert TASK.metric(other, databases) == {"execution_accuracy": 0.5}
    assert TASK.metric([], databases) == {}
    assert TASK.metric([score("sql_qa", SQL, None, "", databases)], databases) == {}


V42 = TASK.rewards["v4.2"]
FULL = f"{SQL}\n\nA consulta mostra a média dos preços por estado, e a loja vendeu 120 pedidos a 35 clientes em 2017."


def tiers(completion: str) -> dict[str, float]:
    return dict(V42.score(completion, "", None, None).components)


def test_v42_has_the_four_tiers_of_the_report() -> None:
    assert V42.weights == {"structure": 0.30, "explanation": 0.25, "numbers": 0.25, "domain": 0.20}
    assert len(read_lexicon("business_words")) == 30
    assert V42.total(tiers(FULL)) == pytest.approx(1.0)
    assert V42.total(tiers("")) == 0.0


def test_v42_pays_each_tier_by_degrees() -> None:
    assert [tiers(text)["structure"] for text in ("nada", "SELECT x", "SELECT x FROM y", SQL)] == [0, 1 / 3, 2 / 3, 1]
    assert tiers(SQL)["explanation"] == 0.0
    assert tiers("Esta é uma explicação longa sobre os pedidos da loja, sem consulta alguma.")["explanation"] == 0.0
    beside = "Ela filtra os pedidos entregues e calcula a média dos preços de cada estado."
    for completion in (f"{SQL}\n{beside}", f"{SQL};\n{beside}", f"{SQL}\n\n{beside}", f"```sql\n{SQL}\n```\n{beside}"):
        assert tiers(completion)["explanation"] == 1.0
    assert 0 < tiers(f"{SQL}; Conta os pedidos.")["explanation"] < tiers(FULL)["explanation"] == 1.0
    assert [tiers(text)["numbers"] for text in ("", "12", "12 e 12", "12 e R$ 1.234,56", "1, 2 e 3")] == pytest.approx(
        [0, 1 / 3, 1 / 3, 2 / 3, 1]
    )
    assert [tiers(text)["domain"] for text in ("x", "pedidos", "Pedidos e AVALIAÇÕES da loja")] == pytest.approx(
        [0, 1 / 3, 1]
    )
