"""Deliveries and experiences of simulated shoppers."""

import random
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.synthesize.market import ISSUES, STATES, State
from tasks.synthesize.shopping import Experience, draw_delivery, judge

moments = st.datetimes(datetime.fromisoformat("2017-01-01"), datetime.fromisoformat("2018-06-30"))


@given(moments, st.sampled_from(STATES), st.floats(0, 1), st.booleans(), st.integers())
def test_what_happens_happens_in_order(moment: datetime, state: State, care: float, boleto: bool, seed: int) -> None:
    generator = random.Random(seed)
    delivery = draw_delivery(moment, state, care, by_boleto=boleto, generator=generator)
    known = [time for time in (delivery.approved, delivery.shipped, delivery.delivered) if time is not None]
    assert [moment, *known] == sorted([moment, *known])
    assert delivery.shipped is not None or delivery.delivered is None
    assert delivery.settled >= delivery.approved


@given(moments, st.integers())
def test_an_order_is_early_or_late_but_never_on_the_promised_day(moment: datetime, seed: int) -> None:
    delivery = draw_delivery(moment, STATES[0], 0.5, by_boleto=False, generator=random.Random(seed))
    if delivery.delivered is None:
        assert delivery.days_late == 0
    else:
        assert delivery.delivered.date() != delivery.promised.date()
        assert (delivery.days_late > 0) == (delivery.delivered > delivery.promised)
    assert delivery.promised.time() == datetime.min.time()


def test_careless_sellers_are_late_more_often() -> None:
    def late(care: float) -> int:
        generator = random.Random(1)
        moment = datetime.fromisoformat("2017-05-05 10:00:00")
        return sum(
            draw_delivery(moment, STATES[0], care, by_boleto=False, generator=generator).days_late > 0
            for _ in range(1000)
        )

    assert late(0.0) > 1.5 * late(1.0)


issues = st.lists(st.sampled_from(sorted(ISSUES)), max_size=2, unique=True)


@given(issues, st.floats(-1, 1), st.integers())
def test_only_who_has_no_complaint_gives_five_stars(went_wrong: list[str], leniency: float, seed: int) -> None:
    score = judge(went_wrong, leniency, random.Random(seed)).score
    assert score in (range(1, 5) if went_wrong else range(1, 6))


@given(issues, st.integers())
def test_the_worst_comes_first_and_gives_the_complaint(went_wrong: list[str], seed: int) -> None:
    experience = judge(went_wrong, 0, random.Random(seed))
    severities = [ISSUES[issue].severity for issue in experience.issues]
    assert severities == sorted(severities, reverse=True)
    assert sorted(experience.issues) == sorted(went_wrong)
    causes = experience.causes()
    assert causes["main_complaint"] == (ISSUES[experience.issues[0]].complaint if went_wrong else "")


@pytest.mark.parametrize(
    ("score", "returns", "risk"), [(1, False, 0.9), (2, False, 0.8), (3, False, 0.6), (3, True, 0.4), (4, True, 0.2)]
)
def test_the_risk_of_leaving_follows_stars_and_intention(score: int, returns: bool, risk: float) -> None:
    assert Experience(score, ("late",), would_recommend=False, repeat_intent=returns).churn_risk == risk


def test_causes_tell_each_kind_of_issue_apart() -> None:
    causes = Experience(2, ("silent", "freight"), would_recommend=False, repeat_intent=False).causes()
    assert causes == {
        "sentiment": "negative",
        "sentiment_score": 2,
        "churn_risk": 0.8,
        "delivery_issue": False,
        "product_issue": False,
        "seller_issue": True,
        "main_complaint": "vendedor não responde",
        "complaint_category": "seller",
        "repeat_intent": False,
        "would_recommend": False,
    }
