import json
import random
from typing import Any

import pytest

from schemas.store import Store
from tasks.commerce.churn import TASK
from tests.tasks.commerce.scoring import score

PROMPT = "Este cliente vai deixar de comprar?\nPedidos: 2\nDias desde a última compra: 210\nNota média: 2,5"
FIELDS = {"risk_score": 0.9, "churn": True, "reasoning": "Não compra há 210 dias e deu nota média 2,5."}


def reward(fate: bool | None = True, **changes: Any) -> float:
    return score("churn", json.dumps(FIELDS | changes, ensure_ascii=False), {"churn": fate}, PROMPT).reward


def test_a_sure_right_answer_earns_most_and_a_sure_wrong_one_least() -> None:
    rewards = [
        reward(),
        reward(risk_score=0.6),
        reward(risk_score=0.4, churn=False),
        reward(risk_score=0.1, churn=False),
    ]
    assert rewards == sorted(rewards, reverse=True)
    assert rewards[0] > 0.95


def test_a_risk_against_the_answer_costs() -> None:
    assert reward(risk_score=0.4) < reward(risk_score=0.6)


@pytest.mark.parametrize(
    "reasoning", ["", "Sim", "Não compra há 999 dias e deu nota 1,5 em 7 pedidos.", "churn " * 30, 7, None]
)
def test_empty_stuffed_and_invented_reasons_cost(reasoning: object) -> None:
    assert reward(reasoning=reasoning) < reward() - 0.05


def test_decimal_comma_in_the_risk_changes_nothing() -> None:
    assert reward(risk_score="0,9") == reward()


def test_an_unknown_fate_is_not_scored() -> None:
    assert reward(None) == reward(None, churn=False, risk_score=0.1) == pytest.approx(1.0)


def test_the_metric_is_accuracy_and_auc() -> None:
    def answered(churned: bool, risk: float) -> Any:
        completion = json.dumps({"risk_score": risk, "churn": risk > 0.5, "reasoning": "x"})
        return score("churn", completion, {"churn": churned})

    rollouts = [answered(True, 0.9), answered(True, 0.4), answered(False, 0.4), answered(False, 0.1)]
    assert TASK.metric(rollouts, None) == {"accuracy": 0.75, "auc": 0.875}
    assert TASK.metric(rollouts[:2], None) == {"accuracy": 0.5}
    assert TASK.metric([score("churn", "nada", {"churn": True})], None) == {"accuracy": 0.0}


def test_a_profile_says_what_the_orders_say(store: Store) -> None:
    examples = {example.customer_id: example for example in TASK.examples(store, random.Random(1), 100)}
    assert len(examples) == 40
    example = examples["person39"]
    assert example.reference == {"churn": True}
    # Orders 39, 79 and 119; the last is the newest of the store.
    assert "Pedidos: 3\n" in example.prompt
    assert "Dias desde a última compra: 0\n" in example.prompt
    assert "Pedidos não entregues: 1" in examples["person11"].prompt


def test_a_real_store_knows_no_fates(real_store: Store) -> None:
    assert list(TASK.examples(real_store, random.Random(1), 10)) == []
