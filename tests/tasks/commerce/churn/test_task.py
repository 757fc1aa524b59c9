"""Churn as a task: examples, right answers, and the grammar that holds a model to a profile."""

import json

from schemas.documents import Rollout
from tasks.commerce.churn.truth import metric
from tests.tasks.commerce.churn.profiles import answer_of, examples, lines_of, prompt_of, reason
from tests.tasks.commerce.scoring import rollouts, writes


def rollout(completion: str, reference: dict[str, object], prompt: str = "") -> Rollout:
    return Rollout(prompt_id="1", task="churn", prompt=prompt, completion=completion, reference=reference)


def test_each_claim_of_the_truth_is_lost_by_its_fault() -> None:
    prompt = prompt_of(silent_days=200)
    reference = {"churn": True, "profile": lines_of(prompt)}
    silent, spent = reason("Dias desde a última compra", "200", "sai"), reason("Total gasto", "R$ 640", "fica")

    def lost(completion: str) -> set[str]:
        return {name for name, value in metric([rollout(completion, reference)], None).items() if value == 0}

    assert lost(answer_of(silent, spent)) == set()
    assert lost(answer_of(silent, spent, risk=0.2)) == {"accuracy", "all_kept"}
    assert lost(answer_of(silent, silent)) == {"no_repetition", "all_kept"}
    assert lost(answer_of(spent)) == {"reasons_for_answer", "all_kept"}
    assert lost(answer_of(silent, {**spent, "aponta": "sai"})) == {"reasons_true", "all_kept"}
    assert lost(answer_of(silent, {**spent, "valor": "R$ 64"})) == {"reasons_true", "all_kept"}
    assert lost(answer_of(silent, texto="x")) == {"in_form", "all_kept"}
    assert lost("sai") == {"accuracy", "in_form", "reasons_true", "reasons_for_answer", "all_kept"}


def test_the_grammar_writes_right_answers_and_no_other_value_field_or_way() -> None:
    for each in rollouts(examples())[:20]:
        assert writes("churn", each.completion, each.prompt)
        fields = json.loads(each.completion)
        first, *others = fields["reasons"]
        for key, value in (("campo", "Estado"), ("valor", "9999"), ("aponta", "talvez")):
            assert not writes(
                "churn", answer_of({**first, key: value}, *others, risk=fields["risk_score"]), each.prompt
            ), key
        turned = {**first, "aponta": "sai" if first["aponta"] == "fica" else "fica"}
        assert not writes("churn", answer_of(turned, *others, risk=fields["risk_score"]), each.prompt)
        assert not writes("churn", answer_of(risk=fields["risk_score"]), each.prompt)
        assert not writes("churn", answer_of(*[first] * 4, risk=fields["risk_score"]), each.prompt)
        assert not writes("churn", each.completion.replace("true", "false").replace("0.", "0.9"), each.prompt)


def test_the_grammar_lets_no_reason_come_twice_and_the_first_speak_for_the_answer() -> None:
    prompt = prompt_of(silent_days=40, undelivered=1)
    orders, rating, mean = (
        reason("Pedidos", "4", "fica"),
        reason("Última nota", "5", "fica"),
        reason("Nota média", "4,8", "fica"),
    )
    missing = reason("Pedidos não entregues", "1", "sai")
    for reasons, right in (
        ((orders, rating), 1),
        ((orders, missing), 1),
        ((orders, orders), 0),
        ((missing, orders), 0),
    ):
        assert writes("churn", answer_of(*reasons, risk=0.4), prompt) == bool(right)
    assert not writes("churn", answer_of(rating, orders, mean, risk=0.4), prompt)
