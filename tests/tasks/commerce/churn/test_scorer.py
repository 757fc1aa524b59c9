import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.store.store import Store
from schemas.tasks import SPEC_NAMES, SpecName
from tasks.commerce.churn import prompts as churn_prompts
from tasks.commerce.churn.scorer import WORDING
from tasks.commerce.churn.task import TASK
from tests.tasks.commerce.scoring import completions, score

PROMPT = "Este cliente vai deixar de comprar?\nPedidos: 2\nDias desde a última compra: 210\nNota média: 2,5"
FIELDS = {"risk_score": 0.9, "churn": True, "reasoning": "Não compra há 210 dias e deu nota média 2,5."}
ANSWER = json.dumps(FIELDS, ensure_ascii=False)


def scored(completion: str, fate: bool | None = True) -> float:
    return score("churn", completion, {"churn": fate}, PROMPT).reward


def reward(fate: bool | None = True, **changes: Any) -> float:
    return scored(json.dumps(FIELDS | changes, ensure_ascii=False), fate)


def test_a_sure_right_answer_earns_most_and_a_sure_wrong_one_least() -> None:
    rewards = [
        reward(),
        reward(risk_score=0.6),
        reward(risk_score=0.4, churn=False),
        reward(risk_score=0.1, churn=False),
    ]
    assert rewards == sorted(rewards, reverse=True)
    assert rewards[0] > 0.95


@pytest.mark.parametrize("fate", [True, False])
def test_who_answers_both_ways_earns_less_than_half(fate: bool) -> None:
    reasons = {True: FIELDS["reasoning"], False: "Comprou duas vezes e deve voltar."}
    right, wrong = (
        reward(fate, churn=answer, risk_score=0.9 if answer else 0.1, reasoning=reasons[answer])
        for answer in (fate, not fate)
    )
    for answer in (True, False):
        both = reward(fate, churn=answer, risk_score=0.1 if answer else 0.9, reasoning=reasons[answer])
        assert wrong < both < 0.48 < right


@pytest.mark.parametrize("answer", ["true", None])
def test_a_reason_beside_no_answer_supports_nothing(answer: object) -> None:
    completion = json.dumps(FIELDS | {"churn": answer}, ensure_ascii=False)
    assert score("churn", completion, {"churn": True}, PROMPT).components["reasoning"] == 0.0


def test_a_risk_against_the_answer_costs() -> None:
    assert reward(risk_score=0.4) < reward(risk_score=0.5) < reward(risk_score=0.6)


@pytest.mark.parametrize(
    "reasoning",
    [
        "",
        " ",
        "Sim",
        "Não compra há 999 dias e deu nota 1,5 em 7 pedidos.",
        "churn " * 30,
        7,
        None,
        "The customer has not bought anything for a long time and gave low ratings.",
        "Não posso ajudar com isso, desculpe.",
        PROMPT.replace("\n", " "),
        "cliente risco compra nota atraso pedido entrega loja produto preço",
    ],
)
def test_empty_stuffed_foreign_and_invented_reasons_cost(reasoning: object) -> None:
    assert reward(reasoning=reasoning) < reward() - 0.05


@pytest.mark.parametrize("risk", ["0,9", '"0,9"', '"90%"', "90%", "0.90"])
def test_decimal_comma_in_the_risk_changes_nothing(risk: str) -> None:
    assert scored(ANSWER.replace("0.9", risk)) == reward()


def test_true_and_a_string_are_no_risk_and_no_churn() -> None:
    assert reward(risk_score=True) == reward(risk_score="alto") == reward(risk_score=90) < 0.75
    assert reward(churn="churn") == reward(churn="true") == reward(churn=1) < 0.75


@pytest.mark.parametrize(
    ("completion", "least", "most"),
    [
        (ANSWER, 0.99, 1.0),
        (f"```json\n{ANSWER}\n```", 0.95, 0.999),
        (f"Claro! Segue a resposta:\n{ANSWER}\nEspero ter ajudado!", 0.40, 0.50),
        (ANSWER.replace('"', "'"), 0.60, 0.70),
        (ANSWER[: len(ANSWER) * 3 // 4], 0.30, 0.50),
        (ANSWER[: len(ANSWER) // 2], 0.15, 0.45),
        (ANSWER[: len(ANSWER) // 4], 0.0, 0.25),
        (f"{ANSWER}\n{ANSWER}", 0.0, 0.40),
        (f'{ANSWER}\n{{"churn": false, "risk_score": 0.1}}', 0.0, 0.15),
        (f'{ANSWER[:-1]}, "churn": false}}', 0.0, 0.15),
        (ANSWER + " deve voltar" * 1_000, 0.0, 0.15),
        (json.dumps(dict.fromkeys(FIELDS)), 0.0, 0.15),
        (json.dumps({name: name for name in FIELDS}), 0.0, 0.15),
    ],
)
def test_what_the_form_costs(completion: str, least: float, most: float) -> None:
    assert least <= scored(completion) <= most


def test_an_unknown_fate_is_not_scored() -> None:
    stays = reward(
        None, churn=False, risk_score=0.1, reasoning="Comprou 2 vezes, apesar de estar há 210 dias sem comprar."
    )
    assert reward(None) == pytest.approx(1.0)
    assert stays > 0.95


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["0,9", "true"]) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*FIELDS, "x"]), inner),
    max_leaves=9,
)


@pytest.mark.parametrize("spec", SPEC_NAMES)
@settings(deadline=None)
@given(completions(JSON))
def test_nothing_raises(spec: SpecName, completion: str) -> None:
    for reference in ({"churn": True}, {"churn": None}, None):
        result = score("churn", completion, reference, PROMPT, spec=spec)
        assert 0 <= result.reward <= 1
        assert all(0 <= value <= 1 for value in result.components.values())


def test_v42_knows_no_fate() -> None:
    for fate in (True, False):
        assert score("churn", ANSWER, {"churn": fate}, PROMPT, spec="v4.2").reward == 1.0
    assert score("churn", '{"churn": "churn"}', None, PROMPT, spec="v4.2").reward == pytest.approx(0.3 + 0.1)
    assert score("churn", "nada", None, PROMPT, spec="v4.2").reward == 0.0


def test_the_metric_is_accuracy_and_auc() -> None:
    def answered(churned: bool, risk: float) -> Any:
        completion = json.dumps({"risk_score": risk, "churn": risk > 0.5, "reasoning": "x"})
        return score("churn", completion, {"churn": churned})

    rollouts = [answered(True, 0.9), answered(True, 0.4), answered(False, 0.4), answered(False, 0.1)]
    assert TASK.metric(rollouts, None) == {"accuracy": 0.75, "balanced_accuracy": 0.75, "auc": 0.875}
    assert TASK.metric(rollouts[:2], None) == {"accuracy": 0.5}
    assert TASK.metric([score("churn", "nada", {"churn": True})], None) == {"accuracy": 0.0}
    assert TASK.metric([score("churn", ANSWER, {"churn": None}), score("churn", ANSWER, None)], None) == {}


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.5, 0.9, None])), min_size=2, max_size=30))
@settings(deadline=None, max_examples=30)
def test_the_auc_is_that_of_scikit_learn(answers: list[tuple[bool, float | None]]) -> None:
    judge: Any = pytest.importorskip("sklearn.metrics")
    measured = TASK.metric(
        [score("churn", json.dumps({"risk_score": risk}), {"churn": churned}) for churned, risk in answers], None
    )
    churned = [each for each, _ in answers]
    if len(set(churned)) < 2:
        assert "auc" not in measured
    else:
        risks = [0.5 if risk is None else risk for _, risk in answers]
        assert measured["auc"] == pytest.approx(judge.roc_auc_score(churned, risks))


def test_a_profile_says_what_the_orders_say(store: Store) -> None:
    examples = {example.customer_id: example for example in churn_prompts.examples(store, random.Random(1), 40)}
    assert len(examples) == 40
    example = examples["person39"]
    assert example.reference == {"churn": True}
    # Orders 39, 79 and 119; the last is the newest of the store.
    assert "Pedidos: 3\n" in example.prompt
    assert "Dias desde a última compra: 0\n" in example.prompt
    last = store.reviews.row(119, named=True)
    assert f"Última nota: {last['review_score']}\n" in example.prompt
    assert f"Estado: {store.customers.row(119, named=True)['customer_state']}\n" in example.prompt
    instalments = max(store.payments.row(order, named=True)["payment_installments"] for order in (39, 79, 119))
    assert f"Máximo de parcelas: {instalments}\n" in example.prompt
    assert "Pedidos não entregues: 1" in examples["person11"].prompt


def test_every_shopper_is_asked_about_in_every_wording(store: Store) -> None:
    made = list(churn_prompts.examples(store, random.Random(1), 10**6))
    assert len({example.prompt for example in made}) == len(made) == 40 * len(WORDING.instructions)
    assert not [example for example in made if example.customer_id and example.customer_id in example.prompt]


def test_a_real_store_knows_no_fates(real_store: Store) -> None:
    assert list(churn_prompts.examples(real_store, random.Random(1), 10)) == []
