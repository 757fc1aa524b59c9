from dataclasses import replace

import polars as pl
import pytest

from schemas.store.store import Store
from tasks.commerce.review_cases import review_cases
from tasks.commerce.text.json_fields import CAUSE_FIELDS, sentiment_of


def test_of_a_simulated_review_everything_is_known_and_of_a_real_one_the_rating_alone(
    store: Store, real_store: Store
) -> None:
    people = dict(store.customers.select("customer_id", "customer_unique_id").iter_rows())
    orders = dict(store.orders.select("order_id", "customer_id").iter_rows())
    cases = review_cases(store)
    assert len(cases) > 20
    for case, real in zip(cases, review_cases(real_store), strict=True):
        assert tuple(case.known) == CAUSE_FIELDS
        assert case.customer_id == people[orders[case.order_id]]
        assert real.known in ({}, {"sentiment": sentiment_of(case.rating), "sentiment_score": case.rating})


@pytest.mark.parametrize("message", ["", " \n\t ", "\u00a0", "\x1c", None])
def test_a_review_of_spaces_has_no_words_and_its_title_is_read(store: Store, message: str | None) -> None:
    blank = pl.lit(message, dtype=pl.String)
    reviews = store.reviews.with_columns(review_comment_title=blank, review_comment_message=blank)
    assert len(review_cases(replace(store, reviews=reviews))) == 0
    titled = replace(store, reviews=reviews.with_columns(review_comment_title=pl.lit("Muito bom!")))
    assert {case.text for case in review_cases(titled)} == {"Muito bom!"}


def test_a_review_of_several_orders_counts_once(real_store: Store) -> None:
    reviews = real_store.reviews.with_columns(review_id=pl.lit("one"), review_comment_message=pl.lit("Gostei"))
    assert [case.review_id for case in review_cases(replace(real_store, reviews=reviews))] == ["one"]
