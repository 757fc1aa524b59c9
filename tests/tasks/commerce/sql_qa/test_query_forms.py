"""Queries that a person might write for the same questions, in another form than the bank's, and near misses of them."""
# ruff: noqa: E501 - the queries are answers, and ours

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from schemas.store.store import Store
from tasks.commerce.sql_qa.prompts import Family, proves_something, read_families, shuffled, values_of
from tasks.commerce.sql_qa.sandbox import Databases
from tests.tasks.commerce.scoring import score

FORMS: Final[dict[str, list[str]]] = json.loads(
    Path(__file__).with_name("query_forms.json").read_text(encoding="utf-8")
)
"""By family, queries made from its questions alone."""
MUTATIONS: Final[dict[str, tuple[Callable[[str], str], float]]] = {
    "> as >=": (lambda sql: re.sub(r"(?<![-<>=]) > (?=\d)", " >= ", sql), 0.05),
    "< as <=": (lambda sql: re.sub(r" < (?=\d)", " <= ", sql), 0.05),
    "days as hours": (
        lambda sql: sql.replace(
            "date(order_delivered_customer_date) > date(order_estimated_delivery_date)",
            "order_delivered_customer_date > order_estimated_delivery_date",
        ),
        0.10,
    ),
    "DENSE_RANK as RANK": (lambda sql: sql.replace("DENSE_RANK", "RANK"), 0.15),
    "RANK as ROW_NUMBER": (lambda sql: re.sub(r"(?<!_)RANK\(\)", "ROW_NUMBER()", sql), 0.35),
    "orders not distinct": (lambda sql: sql.replace("COUNT(DISTINCT order_id)", "COUNT(*)"), 0.10),
    "shoppers not distinct": (lambda sql: sql.replace("DISTINCT customer_unique_id", "customer_unique_id"), 0.10),
}
"""Near misses, and the most of them that may go unnoticed."""


def family(name: str) -> Family:
    return next(family for family in read_families() if family.name == name)


@pytest.mark.parametrize("name", FORMS)
def test_another_form_of_the_right_query_is_right(name: str, simulated: Store, copies: Databases) -> None:
    values, asked = values_of(simulated), family(name)
    for number in list(shuffled(asked.combinations(values), random.Random(6)))[:12]:
        reference = asked.question(values, 0, number).sql
        for form in FORMS[name]:
            other = Family(asked.name, asked.level, 1, asked.texts, form, asked.parameters).question(values, 0, number)
            found = score("sql_qa", other.sql, {"sql": reference}, "", copies)
            assert found.components["result"] == 1.0, (other.sql, reference)


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_near_miss_is_seldom_right_on_every_copy(name: str, simulated: Store, copies: Databases) -> None:
    mutate, most = MUTATIONS[name]
    values, unnoticed = values_of(simulated), []
    for asked in read_families():
        for number in list(shuffled(asked.combinations(values), random.Random(2)))[:25]:
            sql = asked.question(values, 0, number).sql
            mutated = mutate(sql)
            if mutated != sql and proves_something(sql, copies):
                found = score("sql_qa", mutated, {"sql": sql}, "", copies)
                unnoticed.append(found.components["result"] == 1.0)
    assert len(unnoticed) >= 10
    assert sum(unnoticed) / len(unnoticed) <= most
