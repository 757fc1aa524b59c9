import random
import re
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.store.store import Store
from tasks.commerce.sql_qa.prompts import Family, near, proves_something, read_families, shuffled, values_of, weaker
from tasks.commerce.sql_qa.sandbox import Databases
from tests.cases import cases_of

CASES = cases_of(__file__)
FAMILIES = read_families()
PLACE = re.compile(r"\{(\w+)(?::\w+)?\}")

each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def test_texts_and_queries_name_every_parameter_with_articles_and_the_order_of_ties() -> None:
    for family in FAMILIES:
        assert len(set(family.texts)) == len(family.texts) >= 2, family.name
        for text in (*family.texts, family.sql):
            assert set(PLACE.findall(text)) == set(family.parameters), text
        for text in family.texts:
            assert not re.search(r"\b(?:de|em|para|por) \{(?:seller_)?state\}", text), text
        if "LIMIT" in family.sql or "ROW_NUMBER" in family.sql:
            assert re.search(r"ORDER BY .*(?:, 1|product_category_name)", family.sql), family.name
            assert all("empate" in text for text in family.texts), family.name
        assert "100.0 *" not in family.sql or all("(0 a 100)" in text for text in family.texts), family.name


@each_family
def test_queries_are_short_run_and_prove_something(family: Family, simulated: Store, copies: Databases) -> None:
    values = values_of(simulated)
    numbers = list(shuffled(family.combinations(values), random.Random(4)))[:40]
    questions = [family.question(values, 0, number) for number in numbers]
    results = [copies.run_reference(question.sql) for question in questions]
    assert {execution.refusal for result in results for execution in result} == {None}
    assert all(len(question.sql) <= (240 if family.level in ("filters", "joins") else 460) for question in questions)
    assert any(proves_something(question.sql, copies) for question in questions)
    assert len({question.sql for question in questions}) == len(questions) > 1


@pytest.mark.parametrize(("sql", "without"), CASES["weaker"])
def test_a_weaker_query_lacks_a_condition(sql: str, without: list[str]) -> None:
    assert weaker(sql) == without


@pytest.mark.parametrize(("sql", "misses"), CASES["near"])
def test_a_near_miss_counts_the_limit_or_repeated_rows(sql: str, misses: list[str]) -> None:
    assert near(sql) == misses


def test_a_quote_in_a_value_stays_in_its_literal(store: Store) -> None:
    name = "casa d'água' OR 1=1 --"
    products = store.products.with_columns(pl.lit(name).alias("product_category_name"))
    quoted = replace(store, products=products)
    family = next(family for family in FAMILIES if family.name == "category_revenue")
    question = family.question(values_of(quoted), 0, 0)
    assert name in question.text
    (total,) = Databases.from_store(quoted).copies[0].execute(question.sql).rows
    assert total[0] == pytest.approx(store.items["price"].sum(), abs=0.01)


@given(count=st.integers(0, 300), seed=st.integers(0, 20))
def test_shuffled_numbers_come_once_each(count: int, seed: int) -> None:
    assert sorted(shuffled(count, random.Random(seed))) == list(range(count))
