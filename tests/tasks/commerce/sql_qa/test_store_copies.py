import random
from datetime import timedelta

import polars as pl
import pytest

from schemas.store.store import Store
from tasks.commerce.sql_qa import store_copies
from tasks.commerce.sql_qa.sandbox import TABLES
from tasks.commerce.sql_qa.store_copies import LIMITS, OTHER, TIED, Filling, cut, refill
from tasks.synthesize.simulated import simulate_store

LINKS = (("items", "product_id", "products"), ("items", "seller_id", "sellers"), ("orders", "customer_id", "customers"))


@pytest.fixture(scope="module")
def large() -> Store:
    return simulate_store(2_500, random.Random(3))


def test_a_part_is_bounded_and_whole(large: Store) -> None:
    part = cut(large)
    assert part.orders.height == store_copies.MAX_ORDERS
    order_ids = set(part.orders["order_id"])
    for name in ("items", "payments", "reviews"):
        kept, given = getattr(part, name), getattr(large, name)
        assert kept.equals(given.filter(pl.col("order_id").is_in(list(order_ids))))
    for table, key, other in LINKS:
        assert set(getattr(part, table)[key]) == set(getattr(part, other)[key])


def test_a_part_is_the_same_whatever_the_order_of_the_rows(large: Store) -> None:
    part = cut(large)
    assert set(cut(part).orders["order_id"]) == set(part.orders["order_id"])
    shuffled = Store(**{**large.__dict__, "orders": large.orders.sample(fraction=1, shuffle=True, seed=1)})
    assert set(cut(shuffled).orders["order_id"]) == set(part.orders["order_id"])


each_filling = pytest.mark.parametrize("filling", (OTHER, TIED), ids=("other", "tied"))


@each_filling
def test_a_copy_keeps_the_rules_that_queries_may_rely_on(large: Store, filling: Filling) -> None:
    copy = refill(cut(large), filling)
    orders = copy.orders
    delivered = orders["order_delivered_customer_date"].is_not_null()
    assert delivered.to_list() == (orders["order_status"] == "delivered").to_list()
    arrived = orders.filter(delivered)
    assert (arrived["order_delivered_customer_date"] >= arrived["order_purchase_timestamp"]).all()
    assert (orders["order_estimated_delivery_date"] == orders["order_estimated_delivery_date"].dt.truncate("1d")).all()
    homes = copy.customers.group_by("customer_unique_id").agg(pl.col("customer_state").n_unique())
    assert homes["customer_state"].max() == 1
    for table, key, other in (*LINKS, ("items", "order_id", "orders")):
        assert set(getattr(copy, table)[key]) == set(getattr(copy, other)[key])
    for table, keys in (
        ("items", ["order_id", "order_item_id"]),
        ("payments", ["order_id", "payment_sequential"]),
        ("reviews", ["review_id"]),
        ("sellers", ["seller_id"]),
    ):
        assert not getattr(copy, table).select(keys).is_duplicated().any()


@each_filling
def test_a_copy_has_values_at_limits_repeated_rows_and_shoppers_who_return(large: Store, filling: Filling) -> None:
    copy = refill(cut(large), filling)
    for table, column in (("items", "price"), ("items", "freight_value"), ("payments", "payment_value")):
        values = getattr(copy, table)[column]
        near = {float(limit + more) for limit in LIMITS[column][:: filling.step] for more in (-1, 0, 1)}
        assert set(values) >= near
        assert values.is_in(near).sum() / len(values) >= filling.at_limits - 0.01
    for table in ("items", "payments", "reviews") if filling is TIED else ():
        assert getattr(copy, table)["order_id"].n_unique() < 0.85 * getattr(copy, table).height
    assert copy.products["product_category_name"].null_count() > 0.02 * copy.products.height
    assert copy.customers["customer_unique_id"].n_unique() < 0.75 * copy.customers.height
    arrived = copy.orders.drop_nulls("order_delivered_customer_date")
    bought = copy.orders["order_purchase_timestamp"]
    assert (bought == bought.dt.month_start().dt.truncate("1d")).sum() > 0.1 * len(bought)
    last_seconds = bought.filter(bought.dt.strftime("%H:%M:%S") == "23:59:59")
    assert (last_seconds.dt.date() == last_seconds.dt.month_end().dt.date()).sum() > 0.2 * len(bought)
    assert (last_seconds.dt.strftime("%m-%d") == "12-31").sum() > 0.1 * len(bought)
    late = arrived["order_delivered_customer_date"] - arrived["order_estimated_delivery_date"]
    assert ((late > timedelta()) & (late < timedelta(days=1))).sum() > 0.1 * arrived.height


def test_no_count_of_rows_tells_the_first_two_copies_apart(large: Store) -> None:
    part = cut(large)
    for store in (part, cut(simulate_store(400, random.Random(9)))):
        copy = refill(store, OTHER)
        for name in TABLES:
            assert getattr(copy, name).height == getattr(store, name).height, name
    moved = part.orders["order_purchase_timestamp"].dt.strftime("%Y-%m").value_counts().sort("order_purchase_timestamp")
    assert not moved.equals(
        refill(part, OTHER)
        .orders["order_purchase_timestamp"]
        .dt.strftime("%Y-%m")
        .value_counts()
        .sort("order_purchase_timestamp")
    )
