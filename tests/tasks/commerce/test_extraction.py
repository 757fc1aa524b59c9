import json
import random
from collections.abc import Mapping
from typing import Any

import pytest

from schemas.store import Store
from tasks.commerce.extraction import TASK, WEIGHTS
from tasks.commerce.review_cases import CAUSE_FIELDS
from tests.tasks.commerce.scoring import score

FIELDS: dict[str, Any] = {
    "sentiment": "negative",
    "sentiment_score": 2,
    "churn_risk": 0.8,
    "delivery_issue": True,
    "product_issue": False,
    "seller_issue": False,
    "main_complaint": "atraso na entrega",
    "complaint_category": "delivery",
    "repeat_intent": False,
    "would_recommend": False,
}
REFERENCE = {"rating": 2, "fields": FIELDS}


def reward(reference: Mapping[str, Any] = REFERENCE, **changes: Any) -> float:
    return score("extraction", json.dumps(FIELDS | changes), reference).reward


@pytest.mark.parametrize(("field", "wrong"), [
    ("sentiment", "positive"), ("sentiment_score", 5), ("churn_risk", 0.1), ("delivery_issue", False),
    ("product_issue", True), ("main_complaint", "preço"), ("complaint_category", "price"), ("repeat_intent", True),
])  # fmt: skip
def test_each_wrong_value_costs(field: str, wrong: object) -> None:
    assert reward(REFERENCE, **{field: wrong}) < reward() == pytest.approx(1.0)


def test_numbers_cost_by_their_distance() -> None:
    rewards = [reward(churn_risk=risk) for risk in (0.8, 0.7, 0.5, 0.3)]
    assert rewards == sorted(rewards, reverse=True)
    assert len(set(rewards)) == 4


def test_string_echo() -> None:
    echo = {name: name for name in FIELDS if name.endswith(("issue", "intent", "recommend"))}
    scored = score("extraction", json.dumps(FIELDS | echo), REFERENCE)
    assert scored.components["types"] == pytest.approx(4 / 9)
    assert scored.reward < reward() - 0.3


def test_0_2_as_sentiment_score() -> None:
    assert reward(sentiment_score=0.2) < reward(sentiment_score=3)


def test_true_as_an_int() -> None:
    assert reward(sentiment_score=True) == reward(sentiment_score="2") == reward(sentiment_score=None)
    assert reward(sentiment_score=True, reference={"rating": 1, "fields": FIELDS | {"sentiment_score": 1}}) < 0.95


def test_decimal_comma() -> None:
    bare = json.dumps(FIELDS).replace("0.8", "0,8")
    assert score("extraction", bare, REFERENCE).reward == reward(churn_risk="0,8") == reward()


def test_extraction_on_a_2_0_scale() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1.0)
    assert reward() <= 1.0


def test_null_and_unknown_fields_of_the_reference_are_not_scored() -> None:
    little = {"rating": 2, "fields": {"sentiment": "negative", "churn_risk": None}}
    assert reward(little) == reward(little, churn_risk=0.1, would_recommend=True, main_complaint="outra")
    assert reward(little, sentiment="neutral") < reward(little)


def test_without_a_reference_form_alone_is_scored() -> None:
    assert score("extraction", json.dumps(FIELDS), None).reward == pytest.approx(1.0)
    assert score("extraction", json.dumps(FIELDS | {"sentiment": "ruim"}), None).reward < 0.95


def test_a_sentiment_against_the_rating_costs_where_the_reference_does_not_know_it() -> None:
    unknown = {"rating": 5, "fields": {"delivery_issue": True}}
    assert reward(unknown, sentiment="negative") < reward(unknown, sentiment="positive")


def test_missing_and_extra_fields_cost() -> None:
    missing = {name: value for name, value in FIELDS.items() if name != "seller_issue"}
    assert score("extraction", json.dumps(missing), REFERENCE).reward < reward()
    assert reward(extra=1) < reward()


def test_a_repaired_object_stays_below_a_strict_one_and_chatter_costs() -> None:
    answer = json.dumps(FIELDS)
    chatty = score("extraction", f"Claro! Segue a resposta:\n{answer}\nEspero ter ajudado!", REFERENCE).reward
    repaired = score("extraction", answer[:-1], REFERENCE).reward
    assert repaired < 0.7 < chatty < reward()


def test_a_truncated_answer_earns_less_the_more_is_missing() -> None:
    answer = json.dumps(FIELDS)
    rewards = [score("extraction", answer[: len(answer) * quarter // 4], REFERENCE).reward for quarter in (1, 2, 3, 4)]
    assert rewards == sorted(rewards)
    assert rewards[0] < 0.25


def test_an_answer_to_a_real_review_is_complete_and_agrees_with_itself() -> None:
    fields = json.loads(TASK.answer({"rating": 4, "fields": {"delivery_issue": True, "sentiment": None}}))
    assert tuple(fields) == CAUSE_FIELDS
    assert fields["sentiment"] == "positive"
    assert fields["complaint_category"] == "delivery"


def test_the_metric_counts_known_fields_only() -> None:
    right = score("extraction", json.dumps(FIELDS), REFERENCE)
    half = score(
        "extraction",
        '{"sentiment": "positive"}',
        {"rating": 2, "fields": {"sentiment": "negative", "delivery_issue": True}},
    )
    assert TASK.metric([right], None) == {"field_f1": 1.0}
    assert TASK.metric([half], None) == {"field_f1": 0.0}
    assert TASK.metric([right, half], None)["field_f1"] == pytest.approx(2 * 9 / (10 + 11))
    assert TASK.metric([score("extraction", "{}", None)], None) == {}


def test_prompts_tell_rating_and_delivery_and_nobodys_identity(store: Store) -> None:
    for example in TASK.examples(store, random.Random(1), 50):
        assert f"Nota: {example.reference['rating']}\n" in example.prompt
        assert "Entrega: " in example.prompt
        for identity in (example.customer_id, example.order_id, example.review_id):
            assert identity
            assert identity not in example.prompt
