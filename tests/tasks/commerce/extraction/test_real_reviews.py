"""What is known of a real review: nothing where its words are often misread, or contradict its stars."""

import json
import random
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from schemas.store.store import Store
from tasks.commerce.extraction import prompts
from tasks.commerce.extraction.real_reviews import known_by_words, known_of_review, of_stars, words_that_complain
from tasks.commerce.review_cases import review_cases
from tasks.commerce.sentiment import prompts as sentiment_prompts

CASES = json.loads(Path(__file__).with_name("reviews.json").read_text(encoding="utf-8"))
LOST, CANCELLED, LATE = "produto não entregue", "pedido cancelado", "atraso na entrega"


@pytest.mark.parametrize("review", CASES["lost"])
def test_many_stars_say_nothing_where_nothing_arrived(review: str) -> None:
    assert of_stars(review, 5) == of_stars(review, 4) == {}
    assert of_stars(review, 3) == {"sentiment": "neutral", "sentiment_score": 3}
    assert of_stars(review, 1) == {"sentiment": "negative", "sentiment_score": 1}


@pytest.mark.parametrize("review", CASES["arrived"])
def test_many_stars_are_believed_where_something_did(review: str) -> None:
    assert of_stars(review, 5) == {"sentiment": "positive", "sentiment_score": 5}
    assert of_stars(review, None) == {}


@pytest.mark.parametrize(("review", "read"), CASES["misread"])
def test_a_complaint_that_is_often_misread_is_unknown(review: str, read: str) -> None:
    known = known_of_review(review, 1)
    assert known_by_words(review, 1).get("main_complaint") in (None, read)
    assert known.keys() <= {"sentiment", "sentiment_score"}


def test_no_prompt_is_made_of_a_review_whose_stars_its_words_contradict(real_store: Store) -> None:
    reviews = real_store.reviews.with_columns(
        review_comment_message=pl.lit("Não recebi o produto"), review_comment_title=pl.lit(""), review_score=pl.lit(5)
    )
    store = replace(real_store, reviews=reviews)
    assert all(case.known == {} for case in review_cases(store))
    assert not list(sentiment_prompts.examples(store, random.Random(1), 20))
    assert not list(prompts.examples(store, random.Random(1), 20))


@pytest.mark.parametrize(("review", "complaint", "words"), CASES["clauses"])
def test_the_shortest_clause_that_complains_is_found(review: str, complaint: str, words: str | None) -> None:
    assert words_that_complain(review, complaint) == words
