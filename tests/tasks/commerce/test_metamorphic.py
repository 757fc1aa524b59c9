"""What must and must not change a reward, for every task: errors, form, and the ways to earn without an answer."""

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.tasks import SPEC_NAMES, TASK_NAMES, SpecName, TaskName
from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS
from tasks.commerce.sandbox import Databases
from tests.tasks.commerce.scoring import reward, score

Examples = Mapping[TaskName, list[Example]]

JSON_TASKS: Final[tuple[TaskName, ...]] = ("extraction", "sentiment", "churn")
NEXT_TO_NOTHING: Final = 0.15
TRUNCATION_CEILINGS: Final[Mapping[TaskName, tuple[float, float, float]]] = {
    "extraction": (0.10, 0.25, 0.30),
    "sql_qa": (0.20, 0.45, 0.60),
    "insights": (0.30, 0.70, 0.80),
    "push": (0.50, 0.70, 0.95),
    "sentiment": (0.10, 0.10, 0.30),
    "churn": (0.20, 0.45, 0.50),
}
"""The most that the first 25, 50 and 75 % of a reference answer earn."""


def answer(example: Example) -> str:
    return TASKS[example.task].answer(example.reference)


@pytest.mark.parametrize("name", TASK_NAMES)
def test_no_error_beats_one_and_one_beats_two(name: TaskName, examples: Examples, databases: Databases) -> None:
    for example in examples[name]:
        right = answer(example)
        one = _first_error(name, right)
        two = _second_error(name, one)
        rewards = [reward(example, completion, databases) for completion in (right, one, two)]
        assert rewards[0] > rewards[1] > rewards[2], (right, one, two)


def _first_error(name: TaskName, right: str) -> str:
    if name == "sql_qa":
        return right.replace(" FROM", ", 1 FROM", 1)
    if name == "insights":
        return right.replace("\n- ", "\n- 777,7%: ", 1)
    if name == "push":
        return f"Prezado cliente, {right}"
    return _spoil(right, {"sentiment": "?", "polarity": "?", "risk_score": 7})


def _second_error(name: TaskName, right: str) -> str:
    if name in JSON_TASKS:
        return _spoil(right, {"would_recommend": "sim", "score": "5", "churn": "churn"})
    if name == "push":
        return f"{right} Até 99% de desconto."
    if name == "insights":
        return right.replace("## ", "")
    return right.replace(" FROM", ", 2 FROM", 1).partition(" WHERE")[0].partition(" GROUP")[0]


def _spoil(right: str, changes: Mapping[str, Any]) -> str:
    fields = json.loads(right)
    return json.dumps(fields | {key: value for key, value in changes.items() if key in fields}, ensure_ascii=False)


@pytest.mark.parametrize("name", JSON_TASKS)
def test_key_order_and_spaces_change_nothing(name: TaskName, examples: Examples, databases: Databases) -> None:
    for example in examples[name]:
        fields = json.loads(answer(example))
        backwards = dict(reversed(fields.items()))
        same = [
            json.dumps(fields),
            json.dumps(fields, indent=4),
            json.dumps(backwards),
            f"\n\t{json.dumps(fields)}  \n",
        ]
        assert len({reward(example, completion, databases) for completion in same}) == 1


@pytest.mark.parametrize(("name", "field"), [("extraction", "churn_risk"), ("churn", "risk_score")])
def test_a_portuguese_decimal_changes_nothing(
    name: TaskName, field: str, examples: Examples, databases: Databases
) -> None:
    for example in examples[name]:
        fields = json.loads(answer(example))
        value = fields[field]
        point, comma, quoted, percent = (
            json.dumps(fields | {field: "?"}).replace('"?"', written)
            for written in (str(value), str(value).replace(".", ","), f'"{value}"'.replace(".", ","), f'"{value:.0%}"')
        )
        assert comma != point
        rewards = {reward(example, completion, databases) for completion in (point, comma, quoted, percent)}
        assert len(rewards) == 1, (point, comma, quoted, percent)


@pytest.mark.parametrize("name", ["sql_qa", "insights", "push"])
def test_space_around_an_answer_changes_nothing(name: TaskName, examples: Examples, databases: Databases) -> None:
    for example in examples[name]:
        right = answer(example)
        assert reward(example, f"\n {right} \n\n", databases) == reward(example, right, databases)


@pytest.mark.parametrize("name", TASK_NAMES)
def test_chatter_around_an_answer_costs(name: TaskName, examples: Examples, databases: Databases) -> None:
    for example in examples[name]:
        right = answer(example)
        chatty = f"Claro! Segue a resposta:\n{right}\nEspero ter ajudado!"
        assert reward(example, chatty, databases) < reward(example, right, databases) - 0.04


EMPTY_ANSWERS = {
    "nothing": "",
    "space": " \n\t ",
    "refusal": "Desculpe, mas não posso ajudar com isso.",
    "long refusal": "Não consigo responder a esta pergunta, pois não tenho acesso aos dados da loja. " * 3,
    "refusal in English": "I'm sorry, but I can't help with that request.",
    "English": "The store sold very well this month and the customers are happy. I recommend to improve the delivery.",
    "empty object": "{}",
    "empty list": "[]",
    "bare SELECT": "SELECT",
    "SELECT 1": "SELECT 1",
    "bare verbs": "recomendar priorizar reduzir melhorar investir ampliar monitorar ajustar",
    "Portuguese padding": "O produto é muito bom e a loja também é. " * 8,
    "marks": "## \n- \n- \n- \n**",
    "numbers": " ".join(str(number) for number in range(200)),
    "thought": "<think>Preciso pensar no que o cliente disse antes de responder.",
}
STUFFING: Mapping[TaskName, str] = {
    "extraction": "sentiment positive negative neutral sentiment_score 5 churn_risk 0.5 delivery_issue true false none",
    "sql_qa": "SELECT FROM WHERE GROUP BY ORDER BY COUNT SUM AVG orders items products customers reviews price",
    "insights": "## Análise\n- cliente produto vendas recomendar melhorar\n- priorizar receita atrasos estado\n"
    "- investir campanha crescimento reduzir ampliar negócio mercado estratégia",
    "push": "desconto oferta promoção frete grátis cupom cashback aproveite confira garanta compre corra app loja",
    "sentiment": "polarity positive negative neutral score 1 2 3 4 5",
    "churn": "risk_score 0.9 churn true false reasoning cliente pedidos atraso nota",
}
SCHEMA_ECHOES: Mapping[TaskName, str] = {
    "extraction": '{"sentiment": "positive, neutral ou negative", "sentiment_score": "1 a 5", "churn_risk": "0 a 1", '
    '"delivery_issue": "true ou false", "product_issue": "true ou false", "seller_issue": "true ou false", '
    '"main_complaint": "texto curto", "complaint_category": "delivery, product, seller, price, other ou none", '
    '"repeat_intent": "true ou false", "would_recommend": "true ou false"}',
    "sql_qa": "SELECT coluna FROM tabela WHERE condição GROUP BY coluna ORDER BY coluna LIMIT n",
    "insights": "## Título\n- Ponto 1: [número da tabela]. [Ação recomendada]\n- Ponto 2: [número]. [Ação recomendada]",
    "push": "[produto] com [oferta]! [chamada para a ação]",
    "sentiment": '{"polarity": "positive, neutral ou negative", "score": "inteiro de 1 a 5"}',
    "churn": '{"risk_score": "0 a 1", "churn": "true ou false", "reasoning": ""}',
}
WRONG_LANGUAGE: Mapping[TaskName, str] = {
    "extraction": '{"sentimento": "negativo", "nota": 1, "risco": 0.9, "problema_entrega": "sim"}',
    "sql_qa": "SELECT COUNT(*) FROM pedidos WHERE situação = 'entregue'",
    "insights": "## Highlights\n- Revenue grew and we recommend to prioritize the stock of the best products.\n"
    "- Delays are high and we recommend to improve the delivery.\n- Ratings are low and we should act on it.",
    "push": "Hurry up! Great deals on your favorite products, only today in our app.",
    "sentiment": '{"polaridade": "positivo", "nota": "ótima"}',
    "churn": '{"risco": "alto", "vai_sair": "sim", "motivo": "o cliente não compra há tempo"}',
}


@pytest.mark.parametrize("name", TASK_NAMES)
@pytest.mark.parametrize("kind", EMPTY_ANSWERS)
def test_what_says_nothing_earns_next_to_nothing(
    name: TaskName, kind: str, examples: Examples, databases: Databases
) -> None:
    for example in examples[name]:
        assert reward(example, EMPTY_ANSWERS[kind], databases) < NEXT_TO_NOTHING


@pytest.mark.parametrize("name", TASK_NAMES)
def test_echoes_stuffing_and_other_languages_earn_next_to_nothing(
    name: TaskName, examples: Examples, databases: Databases
) -> None:
    for example in examples[name]:
        facts = " ".join(map(str, example.reference.values())) if name in ("push", "insights") else ""
        echoes = [
            example.prompt,
            example.system,
            f"{example.system}\n{example.prompt}",
            STUFFING[name],
            SCHEMA_ECHOES[name],
            WRONG_LANGUAGE[name],
            f"{facts} {STUFFING[name]}",
        ]
        for echo in echoes:
            assert reward(example, echo, databases) < NEXT_TO_NOTHING, echo


@pytest.mark.parametrize("name", JSON_TASKS)
def test_an_object_of_nulls_earns_next_to_nothing(name: TaskName, examples: Examples, databases: Databases) -> None:
    for example in examples[name]:
        nulls = dict.fromkeys(json.loads(answer(example)))
        assert reward(example, json.dumps(nulls), databases) < NEXT_TO_NOTHING


@pytest.mark.parametrize("name", JSON_TASKS)
def test_who_gives_both_answers_has_given_none(name: TaskName, examples: Examples, databases: Databases) -> None:
    for example in examples[name]:
        right = answer(example)
        wrong = json.dumps(_opposite(json.loads(right)), ensure_ascii=False)
        repeated_keys = f"{wrong[:-1]}, {right[1:]}"
        for both in (f"{right}\n{wrong}", f"{wrong}\n{right}", repeated_keys, f"[{wrong}, {right}]"):
            assert reward(example, both, databases) < NEXT_TO_NOTHING, both


def _opposite(fields: Mapping[str, Any]) -> dict[str, Any]:
    others: Mapping[str, Any] = {"positive": "negative", "negative": "positive", "neutral": "positive"}
    return {
        name: not value
        if isinstance(value, bool)
        else others.get(value, "outra coisa")
        if isinstance(value, str)
        else 6 - value
        if isinstance(value, int)
        else round(1 - value, 1)
        for name, value in fields.items()
    }


@pytest.mark.parametrize("name", ["sql_qa", "insights", "push"])
def test_two_answers_are_not_better_than_one(name: TaskName, examples: Examples, databases: Databases) -> None:
    first, other = examples[name][:2]
    two = f"{answer(first)};\n\n{answer(other)}"
    assert reward(first, two, databases) < reward(first, answer(first), databases) - 0.04


@pytest.mark.parametrize("name", TASK_NAMES)
def test_a_truncated_answer_stays_under_its_ceiling(name: TaskName, examples: Examples, databases: Databases) -> None:
    means = []
    for quarters, ceiling in zip((1, 2, 3), TRUNCATION_CEILINGS[name], strict=True):
        rewards = []
        for example in examples[name]:
            right = answer(example)
            rewards.append(reward(example, right[: len(right) * quarters // 4], databases))
        assert max(rewards) <= ceiling
        means.append(sum(rewards) / len(rewards))
    assert means == sorted(means)


PIECES = st.sampled_from([
    "{", "}", "[", '"', ":", ",", "\n", "\\", "0,2", "true", "null", "sentiment", "score", "SELECT ", "WITH a AS (",
    ")", " FROM orders", ";", "--", "/*", "'", "*", "-", "#", "%", "R$", "99", "\x00", "\u0301", "\U0001f468\u200d",
    "de ", "```", "<think>", "</think>", "\ud800",
])  # fmt: skip
HOSTILE = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=60).map("".join))


@pytest.mark.parametrize("spec", SPEC_NAMES)
@pytest.mark.parametrize("name", TASK_NAMES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(completion=HOSTILE)
def test_no_string_raises_and_components_stay_in_bounds(
    name: TaskName, spec: SpecName, completion: str, examples: Examples, databases: Databases
) -> None:
    example = examples[name][0]
    specified = TASKS[name].rewards[spec]
    for reference in (example.reference, None, dict.fromkeys(example.reference)):
        scored = score(name, completion, reference, example.prompt, databases, spec)
        assert set(scored.components) == set(specified.weights)
        assert all(0 <= value <= 1 for value in scored.components.values())
        assert scored.reward == specified.total(scored.components)
        assert 0 <= scored.reward <= 1
        json.dumps(scored.model_dump(exclude={"completion"}), allow_nan=False)


@pytest.mark.parametrize("name", TASK_NAMES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0, 1), insert=HOSTILE)
def test_no_damage_to_an_answer_earns_more_than_the_answer(
    name: TaskName, cut: float, insert: str, examples: Examples, databases: Databases
) -> None:
    example = examples[name][1]
    right = answer(example)
    place = round(cut * len(right))
    best = reward(example, right, databases) + 1e-9
    assert reward(example, right[:place], databases) <= best
    assert reward(example, right[:place] + insert + right[place:], databases) <= best
