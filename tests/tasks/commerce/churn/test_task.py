"""Churn as a task: examples, right answers, and the grammar that holds a model to a profile."""

import json

from schemas.documents import Rollout
from schemas.references import check_reference
from tasks.commerce.churn.truth import metric
from tasks.commerce.registry import TASKS, component_rewards
from tests.tasks.commerce.churn.profiles import answer_of, examples, lines_of, prompt_of, reason
from tests.tasks.commerce.scoring import rollouts, writes

TASK = TASKS["churn"]


def rollout(completion: str, reference: dict[str, object], prompt: str = "") -> Rollout:
    return Rollout(prompt_id="1", task="churn", prompt=prompt, completion=completion, reference=reference)


def test_references_hold_the_lines_of_their_prompts() -> None:
    for example in examples():
        check_reference("churn", example.reference)
        assert example.reference["profile"].items() <= lines_of(example.prompt).items()
        assert example.customer_id
    assert {name for task, name, _ in component_rewards() if task == "churn"} >= {"reasons", "telling"}


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


def test_the_report_reads_the_rendered_reasoning() -> None:
    prompt = prompt_of(silent_days=200)
    reward = TASK.rewards["v4.2"]
    whole = reward.score(answer_of(reason("Dias desde a última compra", "200", "sai")), prompt, None, None)
    assert reward.total(whole.components) == 1
    assert whole.parsed is not None
    assert "200 dias" in whole.parsed["reasoning"]
    false = reward.score(answer_of(reason("Dias desde a última compra", "200", "fica")), prompt, None, None)
    assert 0 < reward.total(false.components) < 1
    assert reward.total(reward.score("sai", prompt, None, None).components) == 0


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


def test_a_profile_that_points_nowhere_leaves_the_form() -> None:
    prompt = "Perfil:\nPedidos: 0"
    assert writes("churn", answer_of(reason("Pedidos", "0", "fica"), risk=0.4), prompt)
    assert not writes("churn", answer_of(reason("Pedidos", "1", "fica"), risk=0.4), prompt)


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
