"""Grammar of queries: whatever is drawn under it ends and can be prepared, and what SQLite refuses is not in it."""

import random
import sqlite3
from typing import Any

import pytest

from schemas.errors import InputError
from schemas.store.files import read_store
from schemas.store.store import Store
from tasks.commerce.sql_qa.grammar import sql_grammar
from tasks.commerce.sql_qa.prompts import WORDING, read_families, values_of
from tasks.commerce.sql_qa.sandbox import TABLES, Databases, Refusal
from tasks.policy.guidance import Grammars
from tasks.stand_in.model import build_tokenizer
from tests.cases import cases_of
from tests.schemas.olist_sample import SAMPLE, needs_sample
from tests.tasks.commerce.sql_qa.walks import walks

CASES = cases_of(__file__)
LONGEST = 7_200
"""Characters of a query whose every part is as long as it may be."""
ONE_TABLE = "payments(order_id, payment_type, payment_installments, payment_value)"


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tokenizer([WORDING.system, *(family.sql for family in read_families())], 1_024)


@pytest.fixture(scope="module")
def grammars(tokenizer: Any) -> Grammars:
    return Grammars(tokenizer, len(tokenizer))


@pytest.fixture(scope="module")
def empty(store: Store) -> sqlite3.Connection:
    """The store's tables without a row."""
    connection = sqlite3.connect(":memory:")
    for name in TABLES:
        connection.execute(f"CREATE TABLE {name} ({', '.join(getattr(store, name).columns)})")
    return connection


def all_columns(store: Store) -> str:
    """Return all the store's tables, as a system prompt names them."""
    return "; ".join(f"{name}({', '.join(getattr(store, name).columns)})" for name in TABLES)


def accepts(grammars: Grammars, tokenizer: Any, sql: str, grammar: str = sql_grammar(WORDING.system)) -> bool:
    matcher, tokens = grammars.start(grammar), tokenizer.encode(sql)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


@pytest.mark.parametrize("shown", ["the prompt's", "one table", "all columns"])
def test_random_walks_end_and_can_be_prepared(
    grammars: Grammars, tokenizer: Any, store: Store, databases: Databases, empty: sqlite3.Connection, shown: str
) -> None:
    systems = {"the prompt's": WORDING.system, "one table": ONE_TABLE, "all columns": all_columns(store)}
    for tokens in walks(grammars, sql_grammar(systems[shown]), shown, 40, LONGEST):
        assert tokens is not None
        sql = tokenizer.decode(tokens)
        empty.execute(f"EXPLAIN {sql}")
        assert databases.copies[0].execute(sql).refusal in {None, Refusal.TOO_MUCH}, sql


@needs_sample
def test_every_question_of_the_real_store_is_in_the_grammar(grammars: Grammars, tokenizer: Any) -> None:
    values, generator = values_of(read_store(SAMPLE)), random.Random(1)
    for family in read_families():
        for _ in range(3):
            sql = family.question(values, 0, generator.randrange(family.combinations(values))).sql
            assert accepts(grammars, tokenizer, sql), sql


@pytest.mark.parametrize("sql", CASES["usual"])
def test_usual_queries_are_in_the_grammar(
    grammars: Grammars, tokenizer: Any, empty: sqlite3.Connection, sql: str
) -> None:
    empty.execute(f"EXPLAIN {sql}")
    assert accepts(grammars, tokenizer, sql)


@pytest.mark.parametrize("sql", CASES["refused"])
def test_queries_that_sqlite_refuses_are_not_in_the_grammar(
    grammars: Grammars, tokenizer: Any, databases: Databases, sql: str
) -> None:
    assert databases.copies[0].execute(sql).refusal in {Refusal.INVALID, Refusal.FORBIDDEN}
    assert not accepts(grammars, tokenizer, sql)


def test_a_prompt_without_tables_is_refused() -> None:
    with pytest.raises(InputError, match="found none"):
        sql_grammar("Arredonde com ROUND(x, 2).")
