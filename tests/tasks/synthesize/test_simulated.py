import itertools
import random
import unicodedata
from pathlib import Path

import polars as pl
import pytest

from schemas.store import Store
from schemas.store_files import FILE_NAMES, read_store, write_store
from tasks.synthesize.shopping import CLOSING
from tasks.synthesize.simulated import simulate_store

ORDERS = 1500


@pytest.fixture(scope="module")
def store() -> Store:
    return simulate_store(ORDERS, random.Random(7))


@pytest.fixture(scope="module")
def told(store: Store) -> pl.DataFrame:
    """Every review beside its order and its causes."""
    assert store.review_causes is not None
    return store.reviews.join(store.review_causes, on="review_id").join(store.orders, on="order_id")


def test_equal_seeds_give_equal_stores_and_others_do_not() -> None:
    first, again, other = (simulate_store(80, random.Random(seed)) for seed in (1, 1, 2))
    for table in FILE_NAMES:
        assert getattr(first, table).equals(getattr(again, table))
    assert not first.orders.equals(other.orders)


@pytest.mark.parametrize("orders", [1, 50, 333])
def test_a_store_has_exactly_the_orders_that_were_asked_for(orders: int, tmp_path: Path) -> None:
    store = simulate_store(orders, random.Random(3))
    assert store.orders.height == store.customers.height == orders


def test_every_table_fits_its_schema(store: Store, tmp_path: Path) -> None:
    write_store(store, tmp_path)
    assert read_store(tmp_path).orders.equals(store.orders)


@pytest.mark.parametrize(
    ("table", "column", "of"),
    [
        ("items", "order_id", "orders"),
        ("payments", "order_id", "orders"),
        ("reviews", "order_id", "orders"),
        ("orders", "customer_id", "customers"),
        ("items", "product_id", "products"),
        ("items", "seller_id", "sellers"),
        ("products", "product_category_name", "category_translation"),
        ("review_causes", "review_id", "reviews"),
        ("customer_hazards", "customer_unique_id", "customers"),
    ],
)
def test_no_row_points_nowhere(store: Store, table: str, column: str, of: str) -> None:
    assert set(getattr(store, table)[column]) <= set(getattr(store, of)[column])


def test_every_order_is_paid_in_full(store: Store) -> None:
    asked = store.items.group_by("order_id").agg((pl.col("price") + pl.col("freight_value")).sum())
    paid = store.payments.group_by("order_id").agg(pl.col("payment_value").sum())
    both = asked.join(paid, on="order_id", how="full")
    assert both.null_count().sum_horizontal().item() == 0
    assert ((both["price"] - both["payment_value"]).abs() < 0.005).all()


def test_only_cards_are_paid_in_instalments(store: Store) -> None:
    several = store.payments.filter(pl.col("payment_installments") > 1)
    assert set(several["payment_type"]) == {"credit_card"}


def test_times_follow_each_other_and_none_is_in_the_future(store: Store) -> None:
    steps = [
        "order_purchase_timestamp",
        "order_approved_at",
        "order_delivered_carrier_date",
        "order_delivered_customer_date",
    ]
    for earlier, later in itertools.pairwise(steps):
        assert (store.orders[earlier] < store.orders[later]).drop_nulls().all()
        assert store.orders.filter(pl.col(earlier).is_null(), pl.col(later).is_not_null()).is_empty()
    assert store.orders.select(pl.max_horizontal(pl.col(steps).max())).item() < CLOSING
    assert store.reviews["review_answer_timestamp"].max() < CLOSING  # type: ignore[operator]


def test_delivered_is_what_has_a_delivery_date(store: Store) -> None:
    is_delivered = store.orders["order_status"] == "delivered"
    assert (is_delivered == store.orders["order_delivered_customer_date"].is_not_null()).all()


def test_far_states_wait_longer(store: Store) -> None:
    waits = (
        store.orders.join(store.customers, on="customer_id")
        .with_columns(wait=pl.col("order_delivered_customer_date") - pl.col("order_purchase_timestamp"))
        .group_by("customer_state")
        .agg(pl.col("wait").mean().dt.total_hours())
    )
    by_state = dict(waits.rows())
    assert by_state["SP"] < by_state["RJ"] < by_state["BA"] < by_state["AM"]


def test_a_late_or_lost_order_is_a_delivery_issue_and_no_other_is(told: pl.DataFrame) -> None:
    late = (pl.col("order_delivered_customer_date") > pl.col("order_estimated_delivery_date")).fill_null(value=False)
    lost = pl.col("order_status") == "shipped"
    assert told.filter(late).height > 50
    assert told.filter((late | lost) != pl.col("delivery_issue")).is_empty()


def test_the_score_is_the_sentiment(told: pl.DataFrame) -> None:
    assert told.filter(pl.col("review_score") != pl.col("sentiment_score")).is_empty()
    sentiments = told.group_by("sentiment").agg(pl.col("review_score").unique().sort())
    assert dict(sentiments.rows()) == {"negative": [1, 2], "neutral": [3], "positive": [4, 5]}


def test_a_complaint_has_its_category_and_no_complaint_has_none(told: pl.DataFrame) -> None:
    assert told.filter((pl.col("main_complaint") == "") != (pl.col("complaint_category") == "none")).is_empty()
    assert set(told["complaint_category"]) == {"delivery", "product", "seller", "price", "other", "none"}
    for category in ("delivery", "product", "seller"):
        assert told.filter(pl.col("complaint_category") == category)[f"{category}_issue"].all()
    assert (
        not told.filter(pl.col("review_score") == 5)
        .select("complaint_category")
        .filter(pl.col("complaint_category") != "none")
        .height
    )


def test_bad_experiences_make_shoppers_leave(store: Store, told: pl.DataFrame) -> None:
    assert store.customer_hazards is not None
    hazards = dict(store.customer_hazards.group_by("churned").agg(pl.col("hazard").mean()).rows())
    assert hazards[True] > hazards[False] + 0.1
    risks = dict(told.group_by("sentiment").agg(pl.col("churn_risk").mean()).rows())
    assert risks["positive"] < risks["neutral"] < risks["negative"]


def test_there_is_enough_of_everything_to_learn_from(store: Store, told: pl.DataFrame) -> None:
    assert store.customer_hazards is not None
    assert 0.3 < store.customer_hazards["churned"].mean() < 0.75  # type: ignore[operator]
    shares = dict(told["sentiment"].value_counts(normalize=True).rows())
    assert min(shares.values()) > 0.08
    assert store.customers["customer_unique_id"].n_unique() < 0.7 * ORDERS
    assert store.items["product_id"].n_unique() > 100


def test_reviews_are_short_varied_and_not_all_well_spelt(store: Store) -> None:
    messages = store.reviews["review_comment_message"].drop_nulls()
    assert messages.len() > 0.6 * ORDERS
    assert (messages.str.len_chars() <= 160).mean() > 0.9  # type: ignore[operator]
    assert messages.n_unique() > 0.85 * messages.len()
    assert not messages.str.contains(r"[{}]").any()
    accented = [
        any(unicodedata.combining(letter) for letter in unicodedata.normalize("NFD", text)) for text in messages
    ]
    assert 0.3 < sum(accented) / len(accented) < 0.9
    assert messages.str.contains(r"\b(mto|q|pq|pra)\b").any()


def test_titles_and_messages_are_often_missing(store: Store) -> None:
    assert 0.7 < store.reviews["review_comment_title"].null_count() / store.reviews.height < 0.95
    assert 0.1 < store.reviews["review_comment_message"].null_count() / store.reviews.height < 0.35
