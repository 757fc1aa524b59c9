import random

import polars as pl
import pytest

from schemas.store import Store
from tasks.commerce import store_copies
from tasks.commerce.store_copies import cut, refill
from tasks.synthesize.simulated import simulate_store

LINKS = (("items", "product_id", "products"), ("items", "seller_id", "sellers"), ("orders", "customer_id", "customers"))


@pytest.fixture(scope="module")
def large() -> Store:
    return simulate_store(2_500, random.Random(3))


def test_a_small_store_is_its_own_part(store: Store) -> None:
    assert cut(store) is store


def test_a_part_is_bounded_and_whole(large: Store) -> None:
    part = cut(large)
    assert part.orders.height == store_copies.MAX_ORDERS
    order_ids = set(part.orders["order_id"])
    for name in ("items", "payments", "reviews"):
        kept, given = getattr(part, name), getattr(large, name)
        assert kept.equals(given.filter(pl.col("order_id").is_in(list(order_ids))))
    for table, key, other in LINKS:
        assert set(getattr(part, table)[key]) == set(getattr(part, other)[key])


def test_a_part_keeps_shoppers_who_come_back(large: Store) -> None:
    everyone, kept = large.customers["customer_unique_id"], cut(large).customers["customer_unique_id"]
    cut_short = [person for person in set(kept) if (kept == person).sum() < (everyone == person).sum()]
    assert len(cut_short) <= 1


def test_a_part_is_the_same_whatever_the_order_of_the_rows(large: Store) -> None:
    part = cut(large)
    assert set(cut(part).orders["order_id"]) == set(part.orders["order_id"])
    shuffled = Store(**{**large.__dict__, "orders": large.orders.sample(fraction=1, shuffle=True, seed=1)})
    assert set(cut(shuffled).orders["order_id"]) == set(part.orders["order_id"])


def test_a_copy_keeps_the_form_and_changes_the_contents(store: Store) -> None:
    copy = refill(store)
    assert copy.orders.schema == store.orders.schema
    assert 0 < copy.orders.height < store.orders.height
    assert copy.customers.height == store.customers.height
    assert copy.customers["customer_state"].to_list() != store.customers["customer_state"].to_list()
    assert sorted(copy.customers["customer_state"]) == sorted(store.customers["customer_state"])


def test_every_row_of_a_copy_belongs_to_an_order_of_it(store: Store) -> None:
    copy = refill(store)
    kept = set(copy.orders["order_id"])
    for table in (copy.items, copy.payments, copy.reviews):
        assert set(table["order_id"]) <= kept


def test_equal_stores_have_equal_copies(store: Store) -> None:
    assert refill(store).items.equals(refill(store).items)
