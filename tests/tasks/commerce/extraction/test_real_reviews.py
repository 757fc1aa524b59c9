"""What is known of a real review: nothing where its words are often misread, or contradict themselves or its stars."""

import random
from dataclasses import replace

import polars as pl
import pytest

from schemas.store.store import Store
from tasks.commerce.extraction import prompts
from tasks.commerce.extraction.real_reviews import (
    known_by_words,
    known_of_review,
    of_stars,
    read_complaints,
    words_that_complain,
)
from tasks.commerce.review_cases import review_cases
from tasks.commerce.sentiment import prompts as sentiment_prompts
from tasks.synthesize.simulated import simulate_store
from tests.cases import cases_of

CASES = cases_of(__file__)
LOST, BROKEN = "produto não entregue", "produto com defeito"


@pytest.mark.parametrize(
    ("review", "lost"), [(each, name == "lost") for name in ("lost", "arrived") for each in CASES[name]]
)
def test_many_stars_are_believed_unless_nothing_arrived(review: str, lost: bool) -> None:
    for stars, mood in ((5, "positive"), (4, "positive"), (3, "neutral"), (1, "negative")):
        known = {"sentiment": mood, "sentiment_score": stars}
        assert of_stars(review, stars) == ({} if lost and stars > 3 else known)
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


@pytest.mark.parametrize(("review", "plain"), CASES["plain"])
def test_plain_words_are_a_complaint_and_denied_ones_none(review: str, plain: list[str]) -> None:
    assert read_complaints(review).plain == tuple(plain)


def test_praise_alone_has_no_complaint_and_a_reserve_leaves_it_open() -> None:
    praise = known_by_words("Adorei, chegou antes do prazo!", 5)
    issues = dict.fromkeys(("delivery_issue", "product_issue", "seller_issue"), False)
    assert praise == {**issues, "main_complaint": "", "complaint_category": "none"}
    assert known_by_words("Adorei, mas podia ser maior", 5) == {}
    assert known_by_words("Adorei, chegou antes do prazo!", 3) == {}


def test_a_topic_without_a_word_is_no_issue_and_one_with_some_is_unknown() -> None:
    assert known_by_words("Não recebi o produto", 1) == {
        "delivery_issue": True,
        "product_issue": False,
        "seller_issue": False,
        "main_complaint": LOST,
        "complaint_category": "delivery",
    }
    assert "seller_issue" not in known_by_words("Não recebi o produto. A loja é péssima.", 1)


@pytest.mark.parametrize("review", CASES["elsewhere"])
def test_harm_to_another_thing_is_no_fault_of_the_product(review: str) -> None:
    assert known_by_words(review, 2).get("main_complaint") not in ("preço alto", BROKEN)


def test_the_worst_of_several_complaints_is_the_main_one() -> None:
    known = known_by_words("A entrega atrasou e veio quebrado", 1)
    assert known["main_complaint"] == BROKEN
    assert known["delivery_issue"] is known["product_issue"] is True


def test_fields_read_from_simulated_words_are_true() -> None:
    """Of 900 orders that nobody looked at; the figures of 8,000 are in the docstring of the module."""
    wrong = said = 0
    for case in review_cases(simulate_store(900, random.Random("held out: reading"))):
        known = known_by_words(case.text, case.rating)
        said += len(known)
        wrong += sum(case.known[name] != value for name, value in known.items())
    assert said > 2_000
    assert wrong <= 0.02 * said


@pytest.mark.parametrize(("review", "plain"), CASES["families"])
def test_families_of_complaints(review: str, plain: str) -> None:
    assert known_by_words(review, 1)["main_complaint"] == plain


@pytest.mark.parametrize("review", CASES["contradicting"])
def test_contradicting_words_leave_the_complaint_unknown(review: str) -> None:
    assert "main_complaint" not in known_by_words(review, 1)
