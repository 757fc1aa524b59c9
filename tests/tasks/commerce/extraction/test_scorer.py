"""The reward of an extraction with a copied complaint: bounded, whole for the right answer, never raised by a fault."""

import json
from pathlib import Path
from typing import Any

import pytest

from tasks.commerce.extraction.scorer import REWARD, score

CASES = json.loads(Path(__file__).with_name("quotations.json").read_text(encoding="utf-8"))
REVIEW = "Comprei para minha mãe. Não recebi o produto e já faz 3 semanas. Ninguém responde."
PROMPT = f"Extraia os campos.\nAvaliação: {REVIEW}"
FIELDS: dict[str, Any] = {
    "sentiment": "negative",
    "sentiment_score": 1,
    "churn_risk": 0.9,
    "delivery_issue": True,
    "product_issue": False,
    "seller_issue": False,
    "main_complaint": "produto não entregue",
    "complaint_category": "delivery",
    "repeat_intent": False,
    "would_recommend": False,
}
TOLD = "Não recebi o produto e já faz 3 semanas"
REFERENCE = {"rating": 1, "fields": FIELDS, "complaint_words": TOLD}
PRAISE = {
    "rating": 5,
    "fields": FIELDS
    | {"sentiment": "positive", "sentiment_score": 5, "main_complaint": "", "complaint_category": "none"},
    "complaint_words": "",
}


def reward(completion: str, reference: dict[str, Any] | None = REFERENCE, prompt: str = PROMPT) -> float:
    return REWARD.total(score(completion, prompt, reference, None).components)


def written(**changes: Any) -> str:
    return json.dumps(FIELDS | {"main_complaint": TOLD} | changes, ensure_ascii=False)


@pytest.mark.parametrize(("complaint", "least", "most"), CASES["earning"])
def test_a_complaint_earns_as_it_is_the_one_that_was_made(complaint: str, least: float, most: float) -> None:
    assert least <= round(reward(written(main_complaint=complaint)), 6) <= most


def test_a_complaint_where_none_was_made_costs_more_than_a_wrong_field() -> None:
    praise = {**PRAISE["fields"], "main_complaint": ""}  # type: ignore[dict-item]
    assert reward(json.dumps(praise), PRAISE) == pytest.approx(1.0)
    invented = reward(json.dumps({**praise, "main_complaint": "Não recebi o produto"}), PRAISE)
    assert invented < reward(json.dumps({**praise, "repeat_intent": True}), PRAISE)


def test_any_quotation_is_right_if_the_complaint_is_unknown() -> None:
    unknown = {"rating": 1, "fields": {"sentiment": "negative", "sentiment_score": 1}, "complaint_words": None}
    quoted, empty, foreign = (
        reward(written(main_complaint=each), unknown) for each in ("Ninguém responde", "", "produto não entregue")
    )
    assert foreign < 0.5 < quoted == pytest.approx(1.0)
    assert empty > foreign
