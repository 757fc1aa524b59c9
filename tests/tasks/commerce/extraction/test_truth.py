"""Ground truth of an extraction with a copied complaint."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.documents import Rollout
from tasks.commerce.extraction.truth import is_complaint, metric
from tests.tasks.commerce.extraction.test_scorer import FIELDS, PRAISE, PROMPT, REFERENCE, written

CASES = json.loads(Path(__file__).with_name("quotations.json").read_text(encoding="utf-8"))


def measured(completion: str, reference: dict[str, Any] = REFERENCE) -> dict[str, float]:
    rollout = Rollout(prompt_id="p", task="extraction", prompt=PROMPT, completion=completion, reference=reference)
    return metric([rollout], None)


@pytest.mark.parametrize(("complaint", "right"), CASES["true"])
def test_a_complaint_is_the_one_that_was_made(complaint: object, right: bool) -> None:
    assert is_complaint(complaint, REFERENCE, PROMPT) == right
    assert not is_complaint(complaint, PRAISE, PROMPT) or complaint == ""


def test_one_wrong_field_is_less_and_text_beside_it_none() -> None:
    assert measured(written()) == {"field_f1": 1.0, "complaint": 1.0, "exact": 1.0}
    wrong = measured(written(delivery_issue=False))
    assert wrong["field_f1"] == pytest.approx(8 / 9)
    assert (wrong["complaint"], wrong["exact"]) == (1.0, 0.0)
    assert measured(f"Claro! {written()}") == {"field_f1": 0.0, "complaint": 0.0, "exact": 0.0}
    assert measured(written(outro=1))["exact"] == 0.0
    assert measured(json.dumps({"main_complaint": {}}))["exact"] == 0.0


def test_a_quotation_is_right_if_the_words_are_unknown() -> None:
    unknown = {"rating": 1, "fields": FIELDS, "complaint_words": None}
    assert is_complaint("Ninguém responde", unknown, PROMPT)
    assert not is_complaint("produto não entregue", unknown, PROMPT)
    assert not is_complaint("recebi o produto", unknown, PROMPT)
    assert not is_complaint("responde", unknown, PROMPT)
    assert not is_complaint("Ninguém responde", unknown, "Extraia os campos.")
