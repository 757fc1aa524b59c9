import itertools
import os
import random
import re
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from schemas.store.files import read_store, write_store
from schemas.store.store import FILE_NAMES, Store
from schemas.store.tables import TABLES
from tasks.synthesize import batches
from tasks.synthesize.shopping import CLOSING
from tasks.synthesize.simulated import simulate_store

ORDERS = 1500


@pytest.fixture(scope="module")
def store() -> Store:
    return simulate_store(ORDERS, random.Random(7))


@pytest.fixture(scope="module")
def large() -> Store:
    """Enough reviews to count what is rare in them."""
    return simulate_store(6000, random.Random(11))


@pytest.fixture(scope="module")
def reviews(store: Store) -> pl.DataFrame:
    """Every review beside its order and its causes."""
    assert store.review_causes is not None
    return store.reviews.join(store.review_causes, on="review_id").join(store.orders, on="order_id")


def test_equal_seeds_give_equal_stores_and_others_do_not() -> None:
    first, again, other = (simulate_store(80, random.Random(seed)) for seed in (1, 1, 2))
    for table in FILE_NAMES:
        assert getattr(first, table).equals(getattr(again, table))
    assert not first.orders.equals(other.orders)


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


def test_far_states_wait_longer_and_get_late_deliveries_more_often(store: Store) -> None:
    delivered, promised = pl.col("order_delivered_customer_date"), pl.col("order_estimated_delivery_date")
    orders = store.orders.join(store.customers, on="customer_id").filter(delivered.is_not_null())

    def mean(states: tuple[str, ...], measure: pl.Expr) -> float:
        chosen = orders.filter(pl.col("customer_state").is_in(states))
        return float(chosen.select(measure.mean()).item())

    northeast = ("AL", "BA", "CE", "MA", "PE", "PI", "SE", "RN", "PB")
    wait = (delivered - pl.col("order_purchase_timestamp")).dt.total_hours()
    assert mean(("SP",), wait) < mean(("RJ",), wait) < mean(northeast, wait)
    assert mean(("SP", "MG", "PR"), delivered > promised) < 0.6 * mean(northeast, delivered > promised)


def test_a_late_or_lost_order_is_a_delivery_issue_and_no_other_is(reviews: pl.DataFrame) -> None:
    late = (pl.col("order_delivered_customer_date") > pl.col("order_estimated_delivery_date")).fill_null(value=False)
    lost = pl.col("order_status") == "shipped"
    assert reviews.filter(late).height > 50
    assert reviews.filter((late | lost) != pl.col("delivery_issue")).is_empty()


def test_the_score_is_the_sentiment(reviews: pl.DataFrame) -> None:
    assert reviews.filter(pl.col("review_score") != pl.col("sentiment_score")).is_empty()
    sentiments = reviews.group_by("sentiment").agg(pl.col("review_score").unique().sort())
    assert dict(sentiments.rows()) == {"negative": [1, 2], "neutral": [3], "positive": [4, 5]}


def test_a_complaint_has_its_category_and_no_complaint_has_none(reviews: pl.DataFrame) -> None:
    assert reviews.filter((pl.col("main_complaint") == "") != (pl.col("complaint_category") == "none")).is_empty()
    assert set(reviews["complaint_category"]) == {"delivery", "product", "seller", "price", "other", "none"}
    for category in ("delivery", "product", "seller"):
        assert reviews.filter(pl.col("complaint_category") == category)[f"{category}_issue"].all()
    assert (
        not reviews.filter(pl.col("review_score") == 5)
        .select("complaint_category")
        .filter(pl.col("complaint_category") != "none")
        .height
    )


def test_bad_experiences_make_shoppers_leave(store: Store, reviews: pl.DataFrame) -> None:
    assert store.customer_hazards is not None
    hazards = dict(store.customer_hazards.group_by("churned").agg(pl.col("hazard").mean()).rows())
    assert hazards[True] > hazards[False] + 0.1
    risks = dict(reviews.group_by("sentiment").agg(pl.col("churn_risk").mean()).rows())
    assert risks["positive"] < risks["neutral"] < risks["negative"]


def test_there_is_enough_of_everything_to_learn_from(store: Store, reviews: pl.DataFrame) -> None:
    assert store.customer_hazards is not None
    assert 0.3 < store.customer_hazards["churned"].mean() < 0.75  # type: ignore[operator]
    shares = dict(reviews["sentiment"].value_counts(normalize=True).rows())
    assert min(shares.values()) > 0.05
    assert store.customers["customer_unique_id"].n_unique() < 0.7 * ORDERS
    assert store.items["product_id"].n_unique() > 100


def messages(store: Store) -> list[str]:
    return store.reviews["review_comment_message"].drop_nulls().to_list()


def share(texts: list[str], test: Callable[[str], bool]) -> float:
    return sum(map(test, texts)) / len(texts)


def test_reviews_are_mostly_short_and_varied(large: Store) -> None:
    texts = messages(large)
    assert share(texts, lambda text: len(text) <= 120) > 0.7
    assert 0.001 < share(texts, lambda text: len(text) > 350) < 0.03
    assert share(texts, lambda text: len(text) <= 10) > 0.015
    assert max(map(len, texts)) < 600
    assert len(set(texts)) > 0.8 * len(texts)


def test_reviews_are_typed_by_many_hands(large: Store) -> None:
    texts = messages(large)
    assert 0.4 < share(texts, lambda text: unicodedata.normalize("NFD", text) != text) < 0.8
    assert 0.01 < share(texts, lambda text: text.isupper() and len(text) > 8) < 0.08
    assert 0.01 < share(texts, lambda text: any(unicodedata.category(letter) == "So" for letter in text)) < 0.08
    assert 0.1 < share(texts, str.islower) < 0.3
    slang = re.compile(r"\b(?:mto|mt|q|pq|vcs|tb|td|hj|nd|obg|msg|pra)\b", re.IGNORECASE)
    assert 0.02 < share(texts, lambda text: slang.search(text) is not None) < 0.12


def test_one_shopper_types_alike_in_every_review(large: Store) -> None:
    typed = (
        large.reviews.drop_nulls("review_comment_message")
        .join(large.orders, on="order_id")
        .join(large.customers, on="customer_id")
        .filter(pl.col("review_comment_message").str.len_chars() > 20)
        .with_columns(small=pl.col("review_comment_message").str.contains(r"^\p{Ll}"))
        .group_by("customer_unique_id")
        .agg(pl.len(), pl.col("small").mean())
        .filter(pl.col("len") > 1)
    )
    assert typed.height > 200
    assert typed["small"].is_in([0.0, 1.0]).mean() > 0.95  # type: ignore[operator]


def test_ratings_are_near_those_of_olist(large: Store) -> None:
    shares = dict(large.reviews["review_score"].value_counts(normalize=True).rows())
    olist = {5: 0.58, 4: 0.19, 3: 0.08, 2: 0.03, 1: 0.11}
    assert all(abs(shares[stars] - olist[stars]) < 0.04 for stars in olist)


def test_titles_and_messages_are_often_missing(store: Store) -> None:
    assert 0.8 < store.reviews["review_comment_title"].null_count() / store.reviews.height < 0.95
    assert 0.2 < store.reviews["review_comment_message"].null_count() / store.reviews.height < 0.45


def test_who_complains_writes_more_often(reviews: pl.DataFrame) -> None:
    written = pl.col("review_comment_message").is_not_null().mean()
    shares = dict(reviews.group_by(pl.col("main_complaint") != "").agg(written).rows())
    assert shares[True] > shares[False] + 0.2


def test_churn_shows_in_the_history_but_not_wholly(large: Store) -> None:
    assert large.customer_hazards is not None
    history = (
        large.orders.join(large.customers, on="customer_id")
        .join(large.reviews, on="order_id")
        .sort("order_purchase_timestamp")
        .group_by("customer_unique_id")
        .agg(pl.last("review_score"))
        .join(large.customer_hazards, on="customer_unique_id")
    )
    churned = dict(history.group_by("review_score").agg(pl.col("churned").mean()).rows())
    assert churned[1] > churned[5] + 0.2
    assert all(0.1 < rate < 0.95 for rate in churned.values())


def test_the_same_seed_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    program = (
        "import random, sys; from pathlib import Path; from schemas.store.files import write_store; "
        "from tasks.synthesize.simulated import simulate_store; "
        "write_store(simulate_store(60, random.Random('4:store')), Path(sys.argv[1]))"
    )
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        subprocess.run([sys.executable, "-c", program, str(tmp_path / hash_seed)], env=environment, check=True)
    for name in FILE_NAMES.values():
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_batches_of_any_size_make_the_same_store(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulate_store(120, random.Random(9))
    monkeypatch.setattr(batches, "ROWS_IN_A_BATCH", 7)
    pieces = simulate_store(120, random.Random(9))
    for table in FILE_NAMES:
        assert getattr(whole, table).equals(getattr(pieces, table))


def test_the_columns_are_those_of_the_schemas() -> None:
    assert {table: list(columns) for table, columns in batches.COLUMNS.items()} == {
        table: list(model.to_schema().columns) for table, model in TABLES.items()
    }


def test_a_large_store_is_made_in_little_time() -> None:
    # Two seconds are allowed on an idle core; the limit is loose, for a test machine is shared.
    started = time.process_time()
    simulate_store(10_000, random.Random(1))
    assert time.process_time() - started < 4
