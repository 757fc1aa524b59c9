# ruff: noqa: S608 - the queries are attacks, and ours

import time
from pathlib import Path

import pytest

from tasks.commerce.sandbox import MAX_ROWS, Databases, Refusal

ATTACKS = {
    "drop": "DROP TABLE orders",
    "delete": "DELETE FROM orders",
    "update": "UPDATE orders SET order_status = 'x'",
    "insert": "INSERT INTO orders (order_id) VALUES ('x')",
    "create": "CREATE TABLE t (x)",
    "create as": "CREATE TEMP TABLE t AS SELECT * FROM orders",
    "write in a cte": "WITH x AS (SELECT 1) DELETE FROM orders",
    "returning": "INSERT INTO orders (order_id) VALUES ('x') RETURNING order_id",
    "attach": "ATTACH DATABASE 'TARGET' AS x",
    "vacuum into": "VACUUM INTO 'TARGET'",
    "pragma": "PRAGMA query_only = OFF",
    "pragma table": "SELECT * FROM pragma_database_list",
    "schema": "SELECT sql FROM sqlite_master",
    "begin": "BEGIN EXCLUSIVE",
    "savepoint": "SAVEPOINT s",
    "analyze": "ANALYZE",
    "reindex": "REINDEX",
    "load extension": "SELECT load_extension('TARGET')",
    "write file": "SELECT writefile('TARGET', 'x')",
    "read file": "SELECT readfile('/etc/passwd')",
    "edit": "SELECT edit('x')",
    "tokenizer": "SELECT fts3_tokenizer('x')",
    "virtual table": "SELECT * FROM json_each('[1]')",
    "two statements": "SELECT 1; DROP TABLE orders",
    "hidden statement": "SELECT 1 /* */; -- \n DELETE FROM orders",
    "parameter": "SELECT ?",
    "zeroblob": "SELECT zeroblob(2000000000)",
    "randomblob": "SELECT randomblob(1000000)",
    "printf": "SELECT printf('%.*c', 1000000000, 'x')",
    "hex": "SELECT hex(hex(hex(order_id))) FROM orders",
    "replace": "SELECT replace(replace('aaaa', 'a', 'aaaaaaaaaaaa'), 'a', 'aaaaaaaaaaaaaaaa')",
    "recursive bomb": "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t",
    "recursive count": "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT SUM(n) FROM t",
    "doubling text": "WITH RECURSIVE t(s) AS (SELECT 'xxxx' UNION ALL SELECT s || s FROM t) SELECT length(s) FROM t",
    "cartesian runaway": "SELECT COUNT(*) FROM orders a, orders b, orders c, orders d, orders e",
    "cartesian sort": "SELECT a.order_id || b.order_id FROM orders a, orders b, orders c, items d ORDER BY 1",
    "cartesian distinct": "SELECT COUNT(DISTINCT a.order_id || b.price) FROM orders a, items b, items c, items d",
    "text heap": "SELECT group_concat(a.order_id || b.order_id) FROM orders a, orders b, orders c",
    "too many rows": "SELECT a.order_id FROM orders a, orders b",
    "many tables": "SELECT COUNT(*) FROM " + ", ".join(f"orders o{number}" for number in range(39)),
    "deep parentheses": "SELECT " + "(" * 450 + "1" + ")" * 450,
    "deep expression": "SELECT " + "+".join("1" * 400),
    "long text": "SELECT '" + "x" * 100_000 + "'",
    "doubling tables": "WITH a AS (SELECT 1 x), "
    + ", ".join(
        f"{new} AS (SELECT p.x FROM {old} p, {old} q)" for old, new in zip("abcdefghij", "bcdefghijk", strict=True)
    )
    + " SELECT COUNT(*) FROM k",
    "multiplying tables": "WITH a AS (VALUES "
    + ", ".join(["(1)"] * 90)
    + "), b AS (SELECT 1 FROM "
    + ", ".join(["a"] * 60)
    + ") SELECT COUNT(*) FROM "
    + ", ".join(["b"] * 60),
    "null character": "SELECT 1\0; DROP TABLE orders",
    "lone surrogate": "SELECT '\ud800'",
    "integer overflow": "SELECT SUM(9223372036854775807) FROM orders",
    "nothing": "",
    "comment": "-- nothing",
    "bare": "SELECT",
    "prose": "Quantos pedidos há?",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_attacks_are_refused_and_leave_no_trace(databases: Databases, tmp_path: Path, attack: str) -> None:
    target = tmp_path / "target"
    started = time.process_time()
    executions = databases.run(attack.replace("TARGET", str(target)))
    assert time.process_time() - started < 3
    assert all(execution.refusal is not None and execution.rows == () for execution in executions)
    assert not target.exists()
    assert databases.copies[0].execute("SELECT COUNT(*) FROM orders").rows == ((120,),)


def test_what_would_write_is_told_from_what_takes_too_much(databases: Databases) -> None:
    database = databases.copies[0]
    assert database.execute(ATTACKS["drop"]).refusal is Refusal.FORBIDDEN
    assert database.execute(ATTACKS["cartesian runaway"]).refusal is Refusal.TOO_MUCH
    assert database.execute(ATTACKS["bare"]).refusal is Refusal.INVALID


def test_a_query_tells_what_it_reads_each_time_it_is_asked(databases: Databases) -> None:
    sql = "SELECT COUNT(*) FROM orders o JOIN customers c ON o.customer_id = c.customer_id WHERE customer_state = 'SP'"
    wanted = {"orders", "customers", "orders.customer_id", "customers.customer_id", "customers.customer_state"}
    assert [databases.copies[0].execute(sql).reads for _ in range(2)] == [wanted, wanted]


def test_joins_windows_and_with_clauses_run(databases: Databases) -> None:
    sql = (
        "WITH s AS (SELECT customer_state st, COUNT(*) n FROM customers GROUP BY 1) "
        "SELECT st, n, RANK() OVER (ORDER BY n DESC) FROM s ORDER BY st"
    )
    execution = databases.copies[0].execute(sql)
    assert execution.refusal is None
    assert execution.columns == 3
    assert [row[:2] for row in execution.rows] == [("BA", 40), ("RJ", 40), ("SP", 40)]


def test_the_largest_result_is_let_through(databases: Databases) -> None:
    sql = f"SELECT a.order_id FROM orders a, orders b LIMIT {MAX_ROWS}"
    assert len(databases.copies[0].execute(sql).rows) == MAX_ROWS


def test_the_copies_disagree(databases: Databases) -> None:
    first, second = databases.run("SELECT COUNT(*), ROUND(AVG(price), 2) FROM items")
    assert first.rows != second.rows


def test_a_budget_spent_is_full_again_for_the_next_query(databases: Databases) -> None:
    for _ in range(3):
        assert databases.copies[0].execute(ATTACKS["cartesian runaway"]).refusal is Refusal.TOO_MUCH
    assert databases.copies[0].execute("SELECT COUNT(*) FROM items").refusal is None


def test_text_that_is_not_utf_8_is_read_all_the_same(databases: Databases) -> None:
    assert databases.copies[0].execute("SELECT CAST(x'ff41' AS TEXT)").rows == (("�A",),)
