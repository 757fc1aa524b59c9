import itertools
import random
from pathlib import Path

import polars as pl
import pytest

from schemas.store.store import Store
from tasks.synthesize.shopping import CLOSING
from tasks.synthesize.simulated import simulate_store

ORDERS = 1500


@pytest.fixture(scope="module")
def store() -> Store:
    return simulate_store(ORDERS, random.Random(7))


@pytest.fixture(scope="module")
def reviews(store: Store) -> pl.DataFrame:
    """Every review beside its order and its causes."""
    assert store.review_causes is not None
    return store.reviews.join(store.review_causes, on="review_id").join(store.orders, on="order_id")


def test_the_words_of_each_main_complaint_stand_in_its_message(reviews: pl.DataFrame) -> None:
    told = reviews.filter(pl.col("review_comment_message").is_not_null())
    complaining = told.filter(pl.col("main_complaint") != "")
    assert complaining.height > 20
    assert (told["complaint_words"] != "").equals(told["main_complaint"] != "")
    rows = complaining.select("complaint_words", "review_comment_message").iter_rows()
    assert all(words in message and words == words.strip() for words, message in rows)


@pytest.mark.parametrize("orders", [1, 50, 333])
def test_a_store_has_exactly_the_orders_that_were_asked_for(orders: int, tmp_path: Path) -> None:
    store = simulate_store(orders, random.Random(3))
    assert store.orders.height == store.customers.height == orders


def test_times_follow_each_other_and_none_is_in_the_future(store: Store) -> None:
    names = ("purchase_timestamp", "approved_at", "delivered_carrier_date", "delivered_customer_date")
    steps = [f"order_{name}" for name in names]
    for earlier, later in itertools.pairwise(steps):
        assert (store.orders[earlier] < store.orders[later]).drop_nulls().all()
        assert store.orders.filter(pl.col(earlier).is_null(), pl.col(later).is_not_null()).is_empty()
    assert store.orders.select(pl.max_horizontal(pl.col(steps).max())).item() < CLOSING
    assert store.reviews["review_answer_timestamp"].max() < CLOSING  # type: ignore[operator]
