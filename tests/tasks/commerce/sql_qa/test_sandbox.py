# ruff: noqa: S608 - the queries are attacks and answers, and ours
import hashlib
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.commerce.sql_qa import sandbox
from tasks.commerce.sql_qa.sandbox import DATE_FUNCTIONS, MAX_OPERATIONS, TABLES, Databases, Refusal
from tests.cases import cases_of
from tests.tasks.commerce.sql_qa.sql_attacks import ATTACKS

CASES = cases_of(__file__)
MOST_GROWTH = 256 * 1024 * 1024


def digest(databases: Databases) -> str:
    """Digest all that is in the copies, and how they are guarded."""
    asked = (
        "SELECT COUNT(*), MIN(rowid), MAX(rowid) FROM {}",
        *(f"SELECT * FROM {{}} LIMIT 50 OFFSET {n}" for n in (0, 50, 100)),
    )
    found = [copy.execute(sql.format(table)).rows for copy in databases.copies for table in TABLES for sql in asked]
    guarded = [copy.execute("DROP TABLE orders").refusal for copy in databases.copies]
    return hashlib.sha256(repr((found, guarded)).encode()).hexdigest()


@pytest.mark.parametrize(("attack", "refusal"), ATTACKS.values(), ids=ATTACKS.keys())
def test_attacks_are_refused_for_what_they_are_on_every_run(
    databases: Databases, tmp_path: Path, attack: str, refusal: Refusal | None
) -> None:
    target = tmp_path / "target"
    sql = attack.replace("TARGET", str(target))
    first, second = databases.copies[0].execute(sql), databases.copies[0].execute(sql)
    assert first == second
    assert first.refusal is refusal
    assert refusal is None or first.rows == ()
    assert not target.exists()


def test_no_attack_changes_the_copies(databases: Databases) -> None:
    before = digest(databases)
    for attack, _ in ATTACKS.values():
        databases.run(attack)
    assert digest(databases) == before


def test_attacks_open_no_file_and_grow_less_than_their_share_of_memory() -> None:
    # A query that opened a file, such as one to sort in, would be refused for another reason than it should be.
    command = [sys.executable, "-m", "tests.tasks.commerce.sql_qa.sql_attacks"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(ended.stdout)
    assert found["refusals"] == {name: refusal and refusal.name for name, (_, refusal) in ATTACKS.items()}
    assert 16 * 1024 * 1024 < found["growth"] < MOST_GROWTH


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sql=st.text(max_size=80)
    | st.builds("SELECT {} FROM orders WHERE {}".format, st.text(max_size=30), st.text(max_size=30))
)
def test_no_text_raises(databases: Databases, sql: str) -> None:
    execution = databases.copies[0].execute(sql)
    assert execution.refusal is None or execution.rows == ()


def test_a_slow_query_is_stopped_by_the_clock_too(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_SECONDS", -1.0)
    sql = "SELECT COUNT(*) FROM orders a, items b"
    assert databases.copies[0].execute(sql).refusal is Refusal.TOO_MUCH
    monkeypatch.undo()
    assert databases.copies[0].execute(sql).refusal is None


def test_a_machine_that_stands_still_for_a_moment_does_not_decide_what_is_right(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "MAX_SECONDS", -1.0)
    executions = databases.run_reference("SELECT COUNT(*) FROM orders a, items b")
    assert [execution.refusal for execution in executions] == [None] * 3


def test_a_runaway_is_stopped_by_the_count_of_its_operations(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "MAX_SECONDS", 1e9)
    assert databases.copies[0].execute(ATTACKS["recursive count"][0]).refusal is Refusal.TOO_MUCH
    monkeypatch.setattr(sandbox, "MAX_OPERATIONS", 40 * MAX_OPERATIONS)
    assert databases.copies[0].execute("SELECT COUNT(*) FROM orders a, orders b, items c").refusal is None


def test_calls_of_date_functions_spend_the_budget(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    # 14,400 calls, and far fewer operations than the budget without them.
    monkeypatch.setattr(sandbox, "MAX_SECONDS", 1e9)
    sql = "SELECT COUNT({}) FROM orders a, orders b"
    dated = "julianday(a.order_purchase_timestamp, '+' || b.rowid || ' days')"
    assert databases.copies[0].execute(sql.format("'+' || b.rowid || ' days'")).refusal is None
    assert databases.copies[0].execute(sql.format(dated)).refusal is Refusal.TOO_MUCH


def test_one_stop_is_for_all_copies(databases: Databases) -> None:
    spent = databases.run("SELECT COUNT(*) FROM orders a, items other", 0.0)
    assert {execution.refusal for execution in spent} == {Refusal.TOO_MUCH}


@pytest.mark.parametrize(("written", "is_known"), [
    ("SELECT /* it's */ printf('%d  x',\n COUNT(*)) FROM sellers -- all", True),
    ("SELECT printf('%d x', COUNT(*)) FROM sellers", False),
    ("SELECT printf('%d  x', COUNT(*)) FROM -- sellers", False),
    ("SELECT printf('%d  x', COUNT(*)) /* printf */ FROM sellers", False),
    ("SELECT printf('%d  x', COUNT(*)) FROM sellers -- " + "," * 50, False),
    ("SELECT printf('%d  x', COUNT(*)) FROM sellers -- " + "x" * 2_000, False),
])  # fmt: skip
def test_only_the_reference_in_other_blanks_and_comments_is_not_run_again(
    written: str, is_known: bool, databases: Databases
) -> None:
    reference = databases.run_reference("SELECT printf('%d  x', COUNT(*)) FROM sellers")
    assert reference[0].refusal is None
    assert (databases.run(written) == reference) == is_known
    assert (databases.run(written) is reference) == is_known


def test_a_query_tells_what_it_reads_each_time_it_is_asked(databases: Databases) -> None:
    sql = "SELECT COUNT(*) FROM orders o JOIN customers c ON o.customer_id = c.customer_id WHERE customer_state = 'SP'"
    wanted = {"orders", "customers", "orders.customer_id", "customers.customer_id", "customers.customer_state"}
    assert [databases.copies[0].execute(sql).reads for _ in range(2)] == [wanted, wanted]


@pytest.mark.parametrize("sql", CASES["queries_that_answers_need_run"])
def test_queries_that_answers_need_run(sql: str, databases: Databases) -> None:
    execution = databases.copies[0].execute(sql)
    assert execution.refusal is None and execution.rows


MOMENTS = st.datetimes().map(lambda moment: moment.strftime("%Y-%m-%d %H:%M:%S"))
MODIFIERS = st.sampled_from(["+1 month", "-3 days", "start of month", "start of year", "weekday 0", "nonsense"])


@given(moment=MOMENTS, modifiers=st.lists(MODIFIERS, max_size=2))
def test_dates_are_what_sqlite_makes_of_them(moment: str, modifiers: list[str]) -> None:
    plain = sqlite3.connect(":memory:")
    for name, function in DATE_FUNCTIONS.items():
        arguments = ["%Y-%m-%d %H %w"] * (name == "strftime") + [moment, *modifiers]
        places = ", ".join("?" * len(arguments))
        assert function(*arguments) == plain.execute(f"SELECT {name}({places})", arguments).fetchone()[0]
    plain.close()


@pytest.mark.parametrize("arguments", [
    (), ("now",), ("NOW",), ("now\0",), (b"now",), ("2018-01-01", "localtime"), ("2018-01-01", "UTC"), ("subsec",),
])  # fmt: skip
def test_nothing_reads_the_clock_or_the_time_zone(arguments: tuple[str | bytes, ...]) -> None:
    for name, function in DATE_FUNCTIONS.items():
        with pytest.raises(ValueError, match="would read the clock"):
            function(*(("%Y",) * (name == "strftime")), *arguments)
