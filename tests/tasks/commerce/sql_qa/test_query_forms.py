"""Queries that a person might write for the same questions, in another form than the bank's, and near misses of them."""
# ruff: noqa: S608, ISC004, E501 - the queries are answers, and ours

import random
import re
from collections.abc import Callable
from typing import Final

import pytest

from schemas.store.store import Store
from tasks.commerce.sql_qa.prompts import Family, proves_something, read_families, shuffled, values_of
from tasks.commerce.sql_qa.sandbox import Databases
from tests.tasks.commerce.scoring import score

ORDERS: Final = "orders o JOIN customers c ON c.customer_id = o.customer_id"
SOLD: Final = (
    "items i, products p, orders o, customers c, sellers s WHERE p.product_id = i.product_id AND o.order_id = i.order_id "
    "AND c.customer_id = o.customer_id AND s.seller_id = i.seller_id"
)
LATE: Final = "substr(o.order_delivered_customer_date, 1, 10) > substr(o.order_estimated_delivery_date, 1, 10)"
MONTH: Final = "substr(order_purchase_timestamp, 1, 7)"
FORMS: Final[dict[str, tuple[str, ...]]] = {
    "orders_by_status": (
        "SELECT COUNT(order_id) FROM orders WHERE order_purchase_timestamp LIKE {year} || '-%' AND order_status = {status}",
    ),
    "orders_in_month": (f"SELECT COUNT(*) FROM orders WHERE {MONTH} = {{month}}",),
    "items_by_freight": ("SELECT SUM(freight_value >= {low} AND freight_value <= {high}) FROM items",),
    "customers_in_state": (
        "SELECT COUNT(*) FROM (SELECT DISTINCT customer_unique_id FROM customers WHERE customer_state = {state})",
    ),
    "category_revenue": (f"SELECT SUM(i.price) FROM {SOLD} AND p.product_category_name = {{category}}",),
    "rating_by_state": (
        "SELECT SUM(review_score) * 1.0 / COUNT(*) FROM reviews WHERE order_id IN "
        f"(SELECT o.order_id FROM {ORDERS} WHERE c.customer_state = {{state}})",
    ),
    "customers_with_rating": (
        "SELECT COUNT(DISTINCT customer_unique_id) FROM customers WHERE customer_state = {state} AND customer_id IN "
        "(SELECT customer_id FROM orders WHERE order_id IN (SELECT order_id FROM reviews WHERE review_score = {stars}))",
    ),
    "state_orders_by_status": (
        f"SELECT SUM(CASE WHEN o.order_status = {{status}} THEN 1 ELSE 0 END) FROM {ORDERS} "
        "WHERE c.customer_state = {state}",
    ),
    "rated_orders_by_payment": (
        "SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM reviews r WHERE r.order_id = o.order_id AND "
        "r.review_score = {stars}) AND EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.order_id AND "
        "p.payment_type = {payment_type})",
    ),
    "sales_between_states": (
        f"SELECT SUM(i.price) FROM {SOLD} AND s.seller_state = {{seller_state}} AND c.customer_state = {{state}}",
    ),
    "category_orders_by_status": (
        "SELECT COUNT(*) FROM orders WHERE order_status = {status} AND order_id IN (SELECT order_id FROM items WHERE "
        "product_id IN (SELECT product_id FROM products WHERE product_category_name = {category}))",
    ),
    "category_items_by_price": (
        f"SELECT COUNT(*) FROM {SOLD} AND i.price {{comparison}} {{price}} AND p.product_category_name = {{category}}",
    ),
    "late_orders": (
        f"SELECT COUNT(*) FROM {ORDERS} WHERE c.customer_state = {{state}} AND o.order_status = 'delivered' AND {LATE}",
        f"SELECT COUNT(*) FROM {ORDERS} WHERE c.customer_state = {{state}} AND {LATE}",
    ),
    "late_rate": (
        f"SELECT 100.0 * SUM({LATE}) / COUNT(*) FROM {ORDERS} WHERE c.customer_state = {{state}} AND "
        "o.order_delivered_customer_date IS NOT NULL AND o.order_purchase_timestamp LIKE {year} || '%'",
    ),
    "average_delay": (
        "SELECT AVG(julianday(substr(o.order_delivered_customer_date, 1, 10)) - julianday(o.order_estimated_delivery_date)) "
        f"FROM {ORDERS} WHERE c.customer_state = {{state}} AND {LATE}",
    ),
    "fast_deliveries": (
        f"SELECT COUNT(*) FROM {ORDERS} WHERE c.customer_state = {{state}} AND o.order_delivered_customer_date >= "
        "o.order_purchase_timestamp AND julianday(o.order_delivered_customer_date) - "
        "julianday(o.order_purchase_timestamp) <= {days}",
        f"SELECT COUNT(*) FROM {ORDERS} WHERE c.customer_state = {{state}} AND o.order_delivered_customer_date <= "
        "datetime(o.order_purchase_timestamp, '+{days} days')",
    ),
    "orders_by_month": (
        "SELECT CAST(strftime('%m', order_purchase_timestamp) AS INTEGER) AS mes, COUNT(*) FROM orders "
        "WHERE order_purchase_timestamp >= {year} || '-01-01' AND order_purchase_timestamp < ({year} + 1) || '-01-01' "
        "GROUP BY mes ORDER BY mes",
    ),
    "orders_by_weekday": (
        "SELECT CAST(strftime('%w', order_purchase_timestamp) AS INTEGER), COUNT(*) FROM orders "
        f"WHERE {MONTH} = {{month}} GROUP BY 1 ORDER BY 1",
    ),
    "best_month": (
        f"WITH meses AS (SELECT {MONTH} AS mes, COUNT(*) AS n FROM {ORDERS} WHERE c.customer_state = {{state}} AND "
        "o.order_status = {status} GROUP BY mes) SELECT mes, n FROM meses WHERE n = (SELECT MAX(n) FROM meses) "
        "ORDER BY mes LIMIT 1",
    ),
    "repeat_customers": (
        "SELECT COUNT(DISTINCT customer_unique_id) FROM customers WHERE customer_state = {state} AND customer_unique_id "
        "IN (SELECT customer_unique_id FROM customers GROUP BY 1 HAVING COUNT(*) >= {minimum})",
    ),
    "category_ranks": (
        "WITH receitas AS (SELECT p.product_category_name AS nome, ROUND(SUM(i.price), 2) AS total "
        f"FROM {SOLD} AND c.customer_state = {{state}} AND p.product_category_name IS NOT NULL GROUP BY nome) SELECT "
        "nome, total, 1 + (SELECT COUNT(*) FROM receitas outras WHERE outras.total > receitas.total) FROM receitas",
    ),
    "category_at_rank": (
        f"SELECT p.product_category_name, ROUND(SUM(i.price), 2) AS total FROM {SOLD} AND s.seller_state = "
        "{seller_state} AND p.product_category_name IS NOT NULL GROUP BY 1 ORDER BY total DESC, 1 "
        "LIMIT 1 OFFSET {position} - 1",
    ),
    "running_orders": (
        f"WITH meses AS (SELECT {MONTH} AS mes, COUNT(*) AS n FROM {ORDERS} WHERE c.customer_state = {{state}} "
        "GROUP BY mes) SELECT a.mes, (SELECT SUM(b.n) FROM meses b WHERE b.mes <= a.mes) FROM meses a ORDER BY a.mes",
    ),
    "days_between_orders": (
        "SELECT AVG(gap) FROM (SELECT customer_state, julianday(order_purchase_timestamp) - "
        "LAG(julianday(order_purchase_timestamp)) OVER (PARTITION BY customer_unique_id ORDER BY "
        f"order_purchase_timestamp) AS gap FROM {ORDERS}) WHERE customer_state = {{state}}",
    ),
    "items_above_average": (
        "SELECT COUNT(*) FROM items JOIN products USING (product_id) WHERE product_category_name = {category} AND price > "
        "(SELECT AVG(price) FROM items JOIN products USING (product_id) WHERE product_category_name = {category}) "
        "* {percent} / 100.0",
    ),
    "seller_ranks": (
        "WITH vendas AS (SELECT i.seller_id AS id, COUNT(*) AS n FROM items i JOIN sellers s ON s.seller_id = i.seller_id "
        "WHERE s.seller_state = {seller_state} GROUP BY id) SELECT id, n, 1 + (SELECT COUNT(DISTINCT m.n) FROM vendas m "
        "WHERE m.n > vendas.n) FROM vendas",
    ),
}  # fmt: skip
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
