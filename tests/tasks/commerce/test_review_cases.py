from datetime import datetime

import pytest

from schemas.store import Store
from tasks.commerce.review_cases import CAUSE_FIELDS, is_late, review_cases, sentiment_of


def test_of_a_simulated_review_everything_is_known(store: Store) -> None:
    cases = review_cases(store)
    assert cases
    assert all(tuple(case.known) == CAUSE_FIELDS for case in cases)


def test_of_a_real_review_rating_and_lateness_are_known(real_store: Store) -> None:
    for case in review_cases(real_store):
        wanted = {"sentiment": sentiment_of(case.rating), "sentiment_score": case.rating}
        assert case.known == wanted | ({"delivery_issue": True} if case.delivered_late else {})


def test_reviews_without_words_are_left_out_and_titles_are_read(store: Store) -> None:
    cases = {case.review_id: case for case in review_cases(store)}
    assert "review0" not in cases
    assert cases["review14"].text.startswith("Muito bom! ")


def test_people_are_known_by_their_unique_id(store: Store) -> None:
    assert {case.review_id: case.customer_id for case in review_cases(store)}["review41"] == "person1"


@pytest.mark.parametrize(
    ("delivered", "late"),
    [("2018-05-01 23:00:00", False), ("2018-05-02 01:00:00", True), ("2018-04-01 00:00:00", False)],
)
def test_late_is_after_the_promised_day(delivered: str, late: bool) -> None:
    promised = datetime.fromisoformat("2018-05-01 00:00:00")
    assert is_late(datetime.fromisoformat(delivered), promised) is late
    assert is_late(None, promised) is None
