from dataclasses import replace

import polars as pl
import pytest

from schemas.store.store import Store
from tasks.commerce.review_cases import review_cases
from tasks.commerce.text.json_fields import CAUSE_FIELDS, sentiment_of


def test_of_a_simulated_review_everything_is_known(store: Store) -> None:
    cases = review_cases(store)
    assert cases
    assert all(tuple(case.known) == CAUSE_FIELDS for case in cases)


def test_of_a_real_review_the_rating_alone_is_known(real_store: Store) -> None:
    for case in review_cases(real_store):
        assert case.known == {"sentiment": sentiment_of(case.rating), "sentiment_score": case.rating}


def test_reviews_without_words_are_left_out_and_titles_are_read(store: Store) -> None:
    cases = {case.review_id: case for case in review_cases(store)}
    assert "review0" not in cases
    assert cases["review14"].text.startswith("Muito bom! ")


@pytest.mark.parametrize("message", ["", " \n\t ", "\u00a0", "\x1c", None])
def test_a_review_of_spaces_has_no_words(store: Store, message: str | None) -> None:
    blank = pl.lit(message, dtype=pl.String)
    reviews = store.reviews.with_columns(review_comment_title=blank, review_comment_message=blank)
    assert len(review_cases(replace(store, reviews=reviews))) == 0


def test_a_review_of_several_orders_counts_once(real_store: Store) -> None:
    reviews = real_store.reviews.with_columns(review_id=pl.lit("one"), review_comment_message=pl.lit("Gostei"))
    cases = review_cases(replace(real_store, reviews=reviews))
    assert [(case.review_id, case.order_id) for case in cases] == [("one", "order0")]


def test_people_are_known_by_their_unique_id(store: Store) -> None:
    assert {case.review_id: case.customer_id for case in review_cases(store)}["review41"] == "person1"
