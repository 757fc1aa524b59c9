"""Ground truth of extraction."""

import json
from typing import Any

import pytest

from schemas.documents import Rollout
from tasks.commerce.extraction.truth import is_complaint, metric

FIELDS: dict[str, Any] = {
    "sentiment": "negative",
    "sentiment_score": 2,
    "churn_risk": 0.8,
    "delivery_issue": True,
    "main_complaint": "atraso na entrega",
    "repeat_intent": False,
}


def measured(answer: dict[str, Any]) -> dict[str, float]:
    reference = {"rating": 2, "fields": FIELDS}
    completion = json.dumps(answer)
    return metric(
        [Rollout(prompt_id="p", task="extraction", prompt="?", completion=completion, reference=reference)], None
    )


def test_every_known_field_right_is_exact_and_one_wrong_is_not() -> None:
    assert measured(FIELDS) == {"field_f1": 1.0, "complaint": 1.0, "exact": 1.0}
    for name, wrong in (
        *(("sentiment", "positive"), ("sentiment_score", True), ("churn_risk", 0.7), ("delivery_issue", "sim")),
        *(("main_complaint", "produto com defeito"), ("repeat_intent", 0)),
    ):
        found = measured(FIELDS | {name: wrong})
        assert found["exact"] == 0.0, name
        assert (found["complaint"], found["field_f1"]) < (1.0, 1.0), name


def test_a_field_that_nobody_asked_for_is_not_exact() -> None:
    found = measured(FIELDS | {"observacao": "x"})
    assert found == {"field_f1": 1.0, "complaint": 1.0, "exact": 0.0}


@pytest.mark.parametrize(("found", "wanted"), [
    ("a encomenda demorou muito", "atraso na entrega"), ("Chegou fora do prazo.", "atraso na entrega"),
    ("produto veio quebrado", "produto com defeito"), ("o aparelho não funciona", "produto com defeito"),
    ("nunca recebi o pedido", "produto não entregue"), ("faltou uma peça", "pedido incompleto"),
    ("a loja não responde as mensagens", "vendedor não responde"), ("veio em uma caixa amassada", "embalagem ruim"),
    ("ainda espera o reembolso", "dificuldade na troca"), ("o frete é muito caro", "frete caro"), ("", ""),
])  # fmt: skip
def test_a_complaint_in_other_words_is_the_same(found: str, wanted: str) -> None:
    assert is_complaint(found, wanted)


@pytest.mark.parametrize(("found", "wanted"), [
    ("produto com defeito", "atraso na entrega"), ("", "atraso na entrega"), ("atraso na entrega", ""),
    ("não houve atraso na entrega", "atraso na entrega"), ("atraso, defeito, frete caro", "atraso na entrega"),
    ("atraso na entrega de um cliente idiota", "atraso na entrega"), ("atraso " * 40, "atraso na entrega"),
    ("late delivery", "atraso na entrega"), ("cliente", "atraso na entrega"), (None, "atraso na entrega"),
    (["atraso na entrega"], "atraso na entrega"),
])  # fmt: skip
def test_another_complaint_several_or_what_is_none_is_not(found: object, wanted: str) -> None:
    assert not is_complaint(found, wanted)


def test_a_complaint_may_use_the_words_of_the_review() -> None:
    prompt = "Extraia os campos.\nAvaliação: O ventilador chegou quebrado"
    assert is_complaint("ventilador quebrado", "produto com defeito", prompt)
    assert not is_complaint("ventilador quebrado", "produto com defeito", "Extraia os campos.")
