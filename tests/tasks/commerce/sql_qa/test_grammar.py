"""Grammar of queries: whatever is drawn under it ends and can be prepared, and what SQLite refuses is not in it."""

import random
import sqlite3

import pytest

from schemas.errors import InputError
from schemas.store.files import read_store
from schemas.store.store import Store
from tasks.commerce.sql_qa.grammar import sql_grammar
from tasks.commerce.sql_qa.prompts import WORDING, read_families, values_of
from tasks.commerce.sql_qa.sandbox import TABLES, Databases, Refusal
from tests.cases import cases_of
from tests.schemas.olist_sample import SAMPLE, needs_sample
from tests.tasks.commerce.scoring import grammars, writes

CASES = cases_of(__file__)
LONGEST = 7_200
"""Characters of a query whose every part is as long as it may be."""
ONE_TABLE = "payments(order_id, payment_type, payment_installments, payment_value)"


@pytest.fixture(scope="module")
def empty(store: Store) -> sqlite3.Connection:
    """The store's tables without a row."""
    connection = sqlite3.connect(":memory:")
    for name in TABLES:
        connection.execute(f"CREATE TABLE {name} ({', '.join(getattr(store, name).columns)})")
    return connection


def walk(grammar: str, generator: random.Random) -> str:
    """Write what a grammar lets through: of the tokens that may follow, each is as likely as any other."""
    known, tokenizer = grammars()
    matcher, tokens = known.start(grammar), list[int]()
    while not matcher.is_stopped():
        assert len(tokens) <= LONGEST
        allowed = known.allowed([matcher])[0].nonzero().flatten().tolist()
        tokens.append(generator.choice(allowed))
        matcher.consume_token(tokens[-1])
    assert not matcher.is_error(), matcher.get_error()
    written: str = tokenizer.decode(tokens, skip_special_tokens=True)
    return written


@pytest.mark.parametrize("shown", ["the prompt's", "one table", "all columns"])
def test_random_walks_end_and_can_be_prepared(
    store: Store, databases: Databases, empty: sqlite3.Connection, shown: str
) -> None:
    every = "; ".join(f"{name}({', '.join(getattr(store, name).columns)})" for name in TABLES)
    systems = {"the prompt's": WORDING.system, "one table": ONE_TABLE, "all columns": every}
    grammar, generator = sql_grammar(systems[shown]), random.Random(shown)
    for _ in range(40):
        sql = walk(grammar, generator)
        empty.execute(f"EXPLAIN {sql}")
        assert databases.copies[0].execute(sql).refusal in {None, Refusal.TOO_MUCH}, sql


@needs_sample
def test_every_question_of_the_real_store_is_in_the_grammar() -> None:
    values, generator = values_of(read_store(SAMPLE)), random.Random(1)
    for family in read_families():
        for _ in range(3):
            sql = family.question(values, 0, generator.randrange(family.combinations(values))).sql
            assert writes("sql_qa", sql, ""), sql


@pytest.mark.parametrize("sql", CASES["usual"])
def test_usual_queries_are_in_the_grammar(empty: sqlite3.Connection, sql: str) -> None:
    empty.execute(f"EXPLAIN {sql}")
    assert writes("sql_qa", sql, "")


@pytest.mark.parametrize("sql", CASES["refused"])
def test_queries_that_sqlite_refuses_are_not_in_the_grammar(databases: Databases, sql: str) -> None:
    assert databases.copies[0].execute(sql).refusal in {Refusal.INVALID, Refusal.FORBIDDEN}
    assert not writes("sql_qa", sql, "")


def test_a_prompt_without_tables_is_refused() -> None:
    with pytest.raises(InputError, match="found none"):
        sql_grammar("Arredonde com ROUND(x, 2).")
