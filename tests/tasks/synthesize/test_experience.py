import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.synthesize.experience import Experience, judge
from tasks.synthesize.market import ISSUES

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
