import json
import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.store.store import Store
from schemas.tasks import SPEC_NAMES, SpecName
from tasks.commerce.extraction import prompts as extraction_prompts
from tasks.commerce.extraction.scorer import CONTRADICTIONS
from tasks.commerce.extraction.task import TASK
from tasks.commerce.registry import TASKS
from tasks.commerce.text.json_fields import CAUSE_FIELDS
from tests.tasks.commerce.scoring import completions, score

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
WRONG: dict[str, Any] = {
    "sentiment": "positive",
    "sentiment_score": 5,
    "churn_risk": 0.1,
    "delivery_issue": False,
    "product_issue": True,
    "seller_issue": True,
    "main_complaint": "preço",
    "complaint_category": "none",
    "repeat_intent": True,
    "would_recommend": True,
}


def reward(reference: Mapping[str, Any] = REFERENCE, **changes: Any) -> float:
    return score("extraction", json.dumps(FIELDS | changes), reference).reward


def v42(completion: str, reference: Mapping[str, Any] | None = None, prompt: str = "") -> Any:
    return score("extraction", completion, reference, prompt, spec="v4.2")


@pytest.mark.parametrize("field", WRONG)
def test_each_wrong_value_costs(field: str) -> None:
    assert reward(REFERENCE, **{field: WRONG[field]}) < reward() == pytest.approx(1.0)


@given(st.permutations(list(WRONG)))
def test_every_further_error_costs(order: list[str]) -> None:
    rewards = [reward(**{name: WRONG[name] for name in order[:errors]}) for errors in range(len(order) + 1)]
    assert rewards == sorted(rewards, reverse=True)
    assert rewards[-1] <= 0.35 + 1e-9


def test_numbers_cost_by_their_distance() -> None:
    rewards = [reward(churn_risk=risk) for risk in (0.8, 0.7, 0.5, 0.4)]
    assert rewards == sorted(rewards, reverse=True)
    assert len(set(rewards)) == 4


def test_string_echo() -> None:
    echo = {name: name for name in FIELDS if name.endswith(("issue", "intent", "recommend"))}
    scored = score("extraction", json.dumps(FIELDS | echo), REFERENCE)
    assert scored.components["types"] <= 4 / 9
    assert scored.reward < reward() - 0.3
    assert v42(json.dumps(FIELDS | echo)).reward == pytest.approx(0.3 + 0.3 + 0.4 * 4 / 9)


def test_0_2_as_sentiment_score() -> None:
    assert reward(sentiment_score=0.2) < reward(sentiment_score=3)
    assert v42(json.dumps(FIELDS | {"sentiment_score": 0.2})).reward == pytest.approx(0.6 + 0.4 * 8 / 9)


def test_true_as_an_int() -> None:
    assert reward(sentiment_score=True) == reward(sentiment_score="2") == reward(sentiment_score=None)
    assert reward(sentiment_score=True, reference={"rating": 1, "fields": FIELDS | {"sentiment_score": 1}}) < 0.95
    assert v42(json.dumps(FIELDS | {"sentiment_score": True})).reward == pytest.approx(0.6 + 0.4 * 8 / 9)


@pytest.mark.parametrize("risk", ["0,8", '"0,8"', '"80%"', "80%", "0.80", '" 0,8 "'])
def test_decimal_comma(risk: str) -> None:
    completion = json.dumps(FIELDS).replace("0.8", risk)
    assert score("extraction", completion, REFERENCE).reward == reward()
    assert v42(completion).reward == 1.0


def test_extraction_on_a_2_0_scale() -> None:
    """The bug of one task on twice the scale of the others: unclamped, no answer of any task comes to more than 1."""
    for task in TASKS.values():
        for specified in task.rewards.values():
            assert sum(weight for weight in specified.weights.values() if weight > 0) == pytest.approx(1.0)
    for spec in TASK.rewards:
        scored = score("extraction", json.dumps(FIELDS), REFERENCE, spec=spec)
        weights = TASK.rewards[spec].weights
        assert sum(weight * scored.components[name] for name, weight in weights.items()) == pytest.approx(1.0)


def test_null_and_unknown_fields_of_the_reference_are_not_scored() -> None:
    little = {"rating": 2, "fields": {"sentiment": "negative", "churn_risk": None}}
    assert reward(little) == reward(little, product_issue=True, seller_issue=True, main_complaint="outra")
    assert reward(little, sentiment="neutral") < reward(little)


@pytest.mark.parametrize(
    "reference", [None, {"rating": None, "fields": None}, {"rating": 5, "fields": {"sentiment": None}}]
)
def test_without_known_fields_form_alone_is_scored(reference: dict[str, Any] | None) -> None:
    assert score("extraction", json.dumps(FIELDS), reference).reward == pytest.approx(1.0)
    assert score("extraction", json.dumps(FIELDS | {"sentiment": "ruim"}), reference).reward < 0.95


def test_a_sentiment_against_the_rating_costs_where_the_reference_does_not_know_it() -> None:
    unknown = {"rating": 5, "fields": {"delivery_issue": True}}
    assert reward(unknown, sentiment="negative") < reward(unknown, sentiment="positive")


@pytest.mark.parametrize(
    ("changes", "ceiling"),
    [
        ({"sentiment": "positive"}, 0.60),
        ({"sentiment_score": 5}, 0.85),
        ({"delivery_issue": False}, 0.80),
        ({"complaint_category": "none"}, 0.80),
        ({"sentiment": "positive", "complaint_category": "none", "would_recommend": True}, 0.50),
    ],
)
def test_contradictions_cost_more_than_the_wrong_field(changes: dict[str, Any], ceiling: float) -> None:
    one_field_alone = 0.35 + 0.65 * 0.9**2
    assert reward(**changes) < ceiling < one_field_alone


def test_a_contradiction_keeps_less_of_the_right_half() -> None:
    only_delivery = {"rating": None, "fields": {"delivery_issue": True}}
    form = 0.35
    assert reward(only_delivery) == pytest.approx(1.0)
    assert reward(only_delivery, complaint_category="none") < form + 0.65 / 2
    assert reward(only_delivery, delivery_issue=False) < reward(only_delivery, complaint_category="none")


def test_what_the_reference_says_too_is_no_contradiction() -> None:
    odd = FIELDS | {"sentiment": "positive", "repeat_intent": True, "complaint_category": "none"}
    assert score("extraction", json.dumps(odd), {"rating": 2, "fields": odd}).reward == pytest.approx(1.0)
    almost = odd | {"product_issue": True}
    assert score("extraction", json.dumps(almost), {"rating": 2, "fields": odd}).components["values"] > 0.5


def test_contradictions_hold_for_no_true_review(store: Store) -> None:
    for example in extraction_prompts.examples(store, random.Random(1), 100):
        fields = example.reference["fields"]
        if fields["complaint_category"] != "none":
            assert not [rule for rule in CONTRADICTIONS if rule.holds(fields[rule.first], fields[rule.second])]


def test_missing_and_extra_fields_cost() -> None:
    missing = {name: value for name, value in FIELDS.items() if name != "seller_issue"}
    assert score("extraction", json.dumps(missing), REFERENCE).reward < reward()
    assert reward(extra=1) < reward()


@pytest.mark.parametrize(
    ("wrap", "least", "most"),
    [
        (lambda text: f"```json\n{text}\n```", 0.95, 0.999),
        (lambda text: f"Claro! Segue a resposta:\n{text}\nEspero ter ajudado!", 0.40, 0.50),
        (lambda text: f"<think>O cliente reclamou.</think>\n{text}", 0.95, 0.999),
        (lambda text: str(json.loads(text)), 0.60, 0.70),
        (lambda text: text[:-1], 0.40, 0.60),
        (lambda text: f"{text}\n{text}", 0.0, 0.40),
        (lambda text: f'{text[:-1]}, "sentiment": "positive"}}', 0.0, 0.15),
        (lambda text: text + " muito bom" * 1_000, 0.0, 0.15),
    ],
)
def test_what_the_form_costs(wrap: Any, least: float, most: float) -> None:
    assert least <= score("extraction", wrap(json.dumps(FIELDS)), REFERENCE).reward <= most


@pytest.mark.parametrize("complaint", ["cliente burro", "digite a senha do cartão", "late delivery", "produto errado"])
def test_an_invented_complaint_costs_most_of_the_values(complaint: str) -> None:
    assert reward(main_complaint=complaint) < 0.5


def test_a_hidden_complaint_costs_and_other_words_for_it_hardly_do() -> None:
    assert 0.5 < reward(main_complaint="") < 0.75
    assert reward(main_complaint="chegou depois do prazo") > 0.96


def test_a_field_that_nobody_asked_for_costs_more_than_half() -> None:
    assert reward(observacao="cliente burro") < 0.5


def test_a_truncated_answer_earns_less_the_more_is_missing() -> None:
    answer = json.dumps(FIELDS)
    rewards = [score("extraction", answer[: len(answer) * quarter // 4], REFERENCE).reward for quarter in (1, 2, 3, 4)]
    assert rewards == sorted(rewards)
    assert [value <= ceiling for value, ceiling in zip(rewards, (0.10, 0.25, 0.40), strict=False)] == [True] * 3


def test_one_fixed_object_earns_little_more_than_what_it_gets_right(store: Store) -> None:
    examples = list(extraction_prompts.examples(store, random.Random(1), 100))
    answers = {TASK.answer(example.reference) for example in examples}
    means = [
        sum(score("extraction", answer, example.reference).reward for example in examples) / len(examples)
        for answer in answers
    ]
    assert max(means) < 0.75


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["positive", "none", "0,8", ""])
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(CAUSE_FIELDS), inner, max_size=10),
    max_leaves=20,
)


@pytest.mark.parametrize("spec", SPEC_NAMES)
@settings(deadline=None)
@given(completions(JSON))
def test_nothing_raises(spec: SpecName, completion: str) -> None:
    for reference in (REFERENCE, {"rating": None, "fields": None}, None):
        scored = score("extraction", completion, reference, "Nota: 1\n", spec=spec)
        assert 0 <= scored.reward <= 1
        assert all(0 <= value <= 1 for value in scored.components.values())


def test_an_answer_to_a_real_review_is_complete_and_agrees_with_itself() -> None:
    fields = json.loads(TASK.answer({"rating": 4, "fields": {"delivery_issue": True, "sentiment": None}}))
    assert tuple(fields) == CAUSE_FIELDS
    assert fields["sentiment"] == "positive"
    assert fields["complaint_category"] == "delivery"


def test_v42_knows_no_values() -> None:
    assert v42(json.dumps(FIELDS), {"rating": 2, "fields": WRONG}).reward == 1.0
    assert v42("{}").reward == 0.3
    assert v42('{"sentiment": "negative", "main_complaint": null}').reward == pytest.approx(0.3 + 0.06 + 0.4 / 9)
    assert v42("Desculpe, não posso ajudar.").reward == 0.0


@pytest.mark.parametrize(("rating", "penalty"), [(1, 0.0), (2, 0.0), (3, 0.0), (4, 0.2), (5, 0.2)])
def test_v42_fines_a_sentiment_against_the_rating(rating: int, penalty: float) -> None:
    completion = json.dumps(FIELDS)
    prompt = f"Extraia os campos.\nNota: {rating}\nAvaliação: Nota: 1 para a loja"
    assert v42(completion, {"rating": rating, "fields": None}).reward == pytest.approx(1 - penalty)
    assert v42(completion, None, prompt).reward == pytest.approx(1 - penalty)
    assert v42(completion, {"rating": None, "fields": FIELDS}, prompt).reward == pytest.approx(1 - penalty)


def test_v42_reads_no_rating_in_what_the_shopper_wrote() -> None:
    assert v42(json.dumps(FIELDS), None, "Avaliação: minha Nota: 5").components["mismatch"] == 0.0


def test_the_metric_counts_known_fields_only() -> None:
    right = score("extraction", json.dumps(FIELDS), REFERENCE)
    half = score(
        "extraction",
        '{"sentiment": "positive"}',
        {"rating": 2, "fields": {"sentiment": "negative", "delivery_issue": True}},
    )
    assert TASK.metric([right], None) == {"field_f1": 1.0, "complaint": 1.0, "exact": 1.0}
    assert TASK.metric([half], None) == {"field_f1": 0.0, "exact": 0.0}
    assert TASK.metric([right, half], None)["field_f1"] == pytest.approx(2 * 9 / (10 + 11))
    assert TASK.metric([score("extraction", "{}", None)], None) == {}


def test_the_metric_by_hand() -> None:
    # Precision 1 of 3 that are given, recall 1 of 4 that are known: F1 = 2/7. A text is no number, and no boolean.
    reference = {
        "rating": 2,
        "fields": {"sentiment": "negative", "churn_risk": 0.8, "delivery_issue": True, "seller_issue": False},
    }
    completion = '{"sentiment": "negative", "churn_risk": "0,8", "delivery_issue": "sim", "product_issue": true}'
    for scored in (score("extraction", completion, reference), v42(completion, reference)):
        assert TASK.metric([scored], None) == {"field_f1": pytest.approx(2 / 7), "exact": 0.0}


def test_prompts_tell_the_review_alone_and_nobodys_identity(store: Store) -> None:
    for example in extraction_prompts.examples(store, random.Random(1), 50):
        instruction, text = example.prompt.split("\n", 1)
        assert instruction in extraction_prompts.WORDING.instructions
        assert text.startswith("Avaliação: ")
        for identity in (example.customer_id, example.order_id, example.review_id):
            assert identity
            assert identity not in example.prompt


REAL: dict[str, Any] = {
    "sentiment": "negative",
    "sentiment_score": 1,
    "delivery_issue": True,
    "main_complaint": "produto não entregue",
    "complaint_category": "delivery",
}


def real(review: str, complaint: str, main: str = "produto não entregue", **changes: Any) -> float:
    """Return the reward of a complaint about a review of which its words alone are known."""
    completion = json.dumps(FIELDS | {"sentiment_score": 1, "main_complaint": complaint} | changes)
    reference = {"rating": 1, "fields": REAL | {"main_complaint": main}}
    return score("extraction", completion, reference, f"Extraia.\nAvaliação: {review}").reward


BROKEN = "produto com defeito"


@pytest.mark.parametrize(
    ("review", "complaint"),
    [
        ("Não recebi a mohila e ninguém responde meu email", "Mochila não chegou e a loja não dá retorno"),
        ("Era pra ter chegado dia 10 e até hoje nada", "Entrega atrasada: era para dia 10 e nada até hoje"),
        ("Não recebi. Debitaram do cartão", "Não recebeu e foi cobrado no cartão"),
        ("Não recebi os 2 livros", "Não recebeu os 2 livros"),
        ("Cadê meu produto? Não recebi", "O cliente ainda não recebeu o produto"),
        ("Não recebi. Pedi a alteração do endereço", "Não recebeu o produto; endereço não alterado após pedido"),
        (
            "Paguei dia 3 e até agora não recebi o produto, a loja mudou o status para indisponível sem avisar",
            "Pagou dia 3 e não recebeu; loja alterou o status para indisponível sem aviso",
        ),
        ("Não recebi e a loja não responde", "Loja não dá retorno e produto não foi entregue"),
    ],
)
def test_an_honest_complaint_earns_almost_everything(review: str, complaint: str) -> None:
    assert real(review, complaint) > 0.9


@pytest.mark.parametrize(
    "complaint",
    [
        "produto não entregue por erro do cliente",
        "cliente ruim: produto não entregue",
        "produto não entregue, problema resolvido",
        "produto não entregue, mas depois entregue",
        "não foi produto não entregue",
        "produto entregue não",
        "produto não entregue há 3 meses",
        "produto não entregue, endereço errado",
        "produto não entregue, produto não entregue",
        "produto não entregue e frete caro",
        "motoboy perdido no trânsito",
        "cliente ainda não pagou, produto não entregue",
        "cliente não quer o produto, não recebeu",
        "produto não entregue, cliente comprou só para reclamar",
        "não recebeu o produto, a loja já respondeu",
        "",
    ],
)
def test_a_complaint_that_says_more_or_less_than_the_review_costs(complaint: str) -> None:
    assert real("Não recebi o produto", complaint) < 0.7


@pytest.mark.parametrize(
    "complaint",
    [
        "Não recebeu e a loja respondeu as mensagens",
        "Não recebeu e não pagou",
        "Não recebeu e o cliente não respondeu as mensagens",
    ],
)
def test_what_the_review_says_the_other_way_round_costs(complaint: str) -> None:
    assert real("Paguei, não recebi e a loja não responde minhas mensagens", complaint) < 0.7


def test_one_other_word_among_the_reviews_own_costs_little_and_a_clause_of_them_much() -> None:
    review = "A porta da geladeira não fecha direito, veio com defeito"
    assert 0.85 < real(review, "Porta da geladeira não veda, defeito", main=BROKEN) < 0.97
    assert real(review, "Geladeira com defeito, técnico cobrou visita", main=BROKEN) < 0.7


def test_another_plain_complaint_of_the_review_earns_a_part() -> None:
    review = "Não recebi o produto e a loja não responde"
    assert real(review, "loja não responde") < 0.7
    assert real(review, "loja não responde") > real(review, "produto com defeito")


def test_a_long_complaint_in_the_reviews_words_earns() -> None:
    review = "Comprei a mesa em maio para o aniversário da minha filha e até agora não recebi nem a mesa nem explicação"
    complaint = "Comprou a mesa em maio para o aniversário da filha e até agora não recebeu nem explicação"
    assert 80 < len(complaint) <= 100
    assert real(review, complaint) > 0.9
    assert real(f"{review}. {review}", f"{complaint}, {complaint}") < 0.7


def test_one_star_off_costs_little_where_the_stars_alone_are_known() -> None:
    review = "Não recebi o produto"
    assert 0.9 < real(review, "produto não entregue", sentiment_score=2) < 1
    assert real(review, "produto não entregue", sentiment_score=4, sentiment="positive") < 0.5


def test_an_issue_of_which_a_review_has_no_word_costs() -> None:
    review = "Não recebi o produto"
    assert real(review, "produto não entregue", seller_issue=True) < 0.95
    assert real(f"{review}. A loja é péssima", "produto não entregue", seller_issue=True) > 0.95
