"""What holds for every task alike: ceilings, floors, and what must change nothing."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout
from schemas.store import Store
from schemas.store_files import read_store
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS, component_rewards, reward_version, score_rollout
from tasks.commerce.sandbox import Databases
from tests.tasks.commerce.scoring import reward, score

OLIST = Path(__file__).resolve().parents[4] / "shared" / "olist"
JSON_TASKS: tuple[TaskName, ...] = ("extraction", "sentiment", "churn")
COUNT = 12
NEXT_TO_NOTHING = 0.15


@pytest.fixture(scope="module")
def examples(store: Store) -> Mapping[TaskName, list[Example]]:
    """A few examples of each task."""
    return {name: list(task.examples(store, random.Random(1), COUNT)) for name, task in TASKS.items()}


def test_the_registry_has_every_task_and_its_weights_sum_to_one() -> None:
    assert tuple(TASKS) == TASK_NAMES
    assert all(name == task.name for name, task in TASKS.items())
    for task in TASKS.values():
        for specified in task.rewards.values():
            assert sum(weight for weight in specified.weights.values() if weight > 0) == pytest.approx(1.0)


@pytest.mark.parametrize("name", TASK_NAMES)
def test_examples_are_as_many_as_asked_different_and_repeatable(name: TaskName, store: Store) -> None:
    made = list(TASKS[name].examples(store, random.Random(3), 30))
    assert len(made) == 30
    assert len({example.prompt for example in made}) == 30
    assert made == list(TASKS[name].examples(store, random.Random(3), 30))
    assert made != list(TASKS[name].examples(store, random.Random(4), 30))
    assert {(example.task, example.system) for example in made} == {(name, TASKS[name].system)}
    assert list(TASKS[name].examples(store, random.Random(3), 0)) == []


@pytest.mark.parametrize("name", TASK_NAMES)
def test_prompts_are_short_and_worded_in_several_ways(name: TaskName, store: Store) -> None:
    made = list(TASKS[name].examples(store, random.Random(5), 30))
    longest = 900 if name in ("sql_qa", "insights") else 700
    assert all(len(example.system) + len(example.prompt) < longest for example in made)
    assert len({example.prompt.split()[0] for example in made}) >= 3


@pytest.mark.parametrize("name", TASK_NAMES)
def test_the_reference_answer_earns_nearly_all(
    name: TaskName, examples: Mapping[TaskName, list[Example]], databases: Databases
) -> None:
    for example in examples[name]:
        assert reward(example, TASKS[name].answer(example.reference), databases) > 0.95


@pytest.mark.parametrize("name", TASK_NAMES)
def test_no_error_beats_one_and_one_beats_two(
    name: TaskName, examples: Mapping[TaskName, list[Example]], databases: Databases
) -> None:
    for example in examples[name]:
        answer = TASKS[name].answer(example.reference)
        one = _first_error(name, answer)
        two = _second_error(name, one)
        rewards = [reward(example, completion, databases) for completion in (answer, one, two)]
        assert rewards[0] > rewards[1] > rewards[2], (answer, one, two)


def _first_error(name: TaskName, answer: str) -> str:
    if name == "sql_qa":
        return answer.replace(" FROM", ", 1 FROM", 1)
    if name == "insights":
        return answer.replace("\n- ", "\n- 777,7%: ", 1)
    if name == "push":
        return f"Prezado cliente, {answer}"
    return _spoil(answer, {"sentiment": "?", "polarity": "?", "risk_score": 7})


def _second_error(name: TaskName, answer: str) -> str:
    if name in JSON_TASKS:
        return _spoil(answer, {"would_recommend": "sim", "score": "5", "churn": "churn"})
    if name == "push":
        return answer.replace(" em ", ", até 99% ").partition(",")[0]
    if name == "insights":
        return answer.replace("## ", "")
    return answer.partition(" WHERE")[0].partition(" GROUP")[0]


def _spoil(answer: str, changes: Mapping[str, Any]) -> str:
    fields = json.loads(answer)
    return json.dumps(fields | {key: value for key, value in changes.items() if key in fields}, ensure_ascii=False)


@pytest.mark.parametrize("name", JSON_TASKS)
def test_key_order_and_spaces_change_nothing(
    name: TaskName, examples: Mapping[TaskName, list[Example]], databases: Databases
) -> None:
    for example in examples[name]:
        fields = json.loads(TASKS[name].answer(example.reference))
        backwards = dict(reversed(fields.items()))
        same = [
            json.dumps(fields),
            json.dumps(fields, indent=4),
            json.dumps(backwards),
            f"\n\t{json.dumps(fields)}  \n",
        ]
        assert len({reward(example, completion, databases) for completion in same}) == 1


@pytest.mark.parametrize("name", ["sql_qa", "insights", "push"])
def test_space_around_an_answer_changes_nothing(
    name: TaskName, examples: Mapping[TaskName, list[Example]], databases: Databases
) -> None:
    for example in examples[name]:
        answer = TASKS[name].answer(example.reference)
        assert reward(example, f"\n {answer} \n\n", databases) == reward(example, answer, databases)


@pytest.mark.parametrize("name", TASK_NAMES)
def test_chatter_around_an_answer_costs(
    name: TaskName, examples: Mapping[TaskName, list[Example]], databases: Databases
) -> None:
    for example in examples[name]:
        answer = TASKS[name].answer(example.reference)
        chatty = f"Claro! Segue a resposta:\n{answer}\nEspero ter ajudado!"
        assert reward(example, chatty, databases) < reward(example, answer, databases) - 0.04


EMPTY_ANSWERS = {
    "nothing": "",
    "space": " \n\t ",
    "refusal": "Desculpe, mas não posso ajudar com isso.",
    "long refusal": "Não consigo responder a esta pergunta, pois não tenho acesso aos dados da loja. " * 3,
    "apology in English": "I'm sorry, but I can't help with that request.",
    "empty object": "{}",
    "empty list": "[]",
    "bare SELECT": "SELECT",
    "SELECT 1": "SELECT 1",
    "bare verbs": "recomendar priorizar reduzir melhorar investir ampliar monitorar ajustar",
    "Portuguese padding": "O produto é muito bom e a loja também é. " * 8,
    "marks": "## \n- \n- \n- \n**",
    "numbers": " ".join(str(number) for number in range(200)),
}
STUFFING = {
    "extraction": "sentiment positive negative neutral sentiment_score 5 churn_risk 0.5 delivery_issue true false none",
    "sql_qa": "SELECT FROM WHERE GROUP BY ORDER BY COUNT SUM AVG orders items products customers reviews price",
    "insights": "## Análise\n- cliente produto vendas recomendar melhorar\n- priorizar receita atrasos estado\n"
    "- investir campanha crescimento reduzir ampliar negócio mercado estratégia",
    "push": "desconto oferta promoção frete grátis cupom cashback aproveite confira garanta compre corra app loja",
    "sentiment": "polarity positive negative neutral score 1 2 3 4 5",
    "churn": "risk_score 0.9 churn true false reasoning cliente pedidos atraso nota",
}
SCHEMA_ECHOES = {
    "extraction": '{"sentiment": "positive, neutral ou negative", "sentiment_score": "1 a 5", "churn_risk": "0 a 1", '
    '"delivery_issue": "true ou false", "product_issue": "true ou false", "seller_issue": "true ou false", '
    '"main_complaint": "texto curto", "complaint_category": "delivery, product, seller, price, other ou none", '
    '"repeat_intent": "true ou false", "would_recommend": "true ou false"}',
    "sentiment": '{"polarity": "positive, neutral ou negative", "score": "inteiro de 1 a 5"}',
    "churn": '{"risk_score": "0 a 1", "churn": "true ou false", "reasoning": ""}',
}


@pytest.mark.parametrize("name", TASK_NAMES)
@pytest.mark.parametrize("kind", EMPTY_ANSWERS)
def test_what_says_nothing_earns_next_to_nothing(
    name: TaskName, kind: str, examples: Mapping[TaskName, list[Example]], databases: Databases
) -> None:
    for example in examples[name]:
        assert reward(example, EMPTY_ANSWERS[kind], databases) < NEXT_TO_NOTHING


@pytest.mark.parametrize("name", TASK_NAMES)
def test_echoes_and_stuffed_keywords_earn_next_to_nothing(
    name: TaskName, examples: Mapping[TaskName, list[Example]], databases: Databases
) -> None:
    for example in examples[name]:
        facts = " ".join(map(str, example.reference.values())) if name in ("push", "insights") else ""
        echoes = [
            example.prompt,
            example.system,
            f"{example.system}\n{example.prompt}",
            STUFFING[name],
            SCHEMA_ECHOES.get(name, ""),
            f"{facts} {STUFFING[name]}",
        ]
        assert max(reward(example, echo, databases) for echo in echoes) < NEXT_TO_NOTHING


@pytest.mark.parametrize("name", JSON_TASKS)
def test_an_object_of_nulls_earns_next_to_nothing(
    name: TaskName, examples: Mapping[TaskName, list[Example]], databases: Databases
) -> None:
    for example in examples[name]:
        nulls = dict.fromkeys(json.loads(TASKS[name].answer(example.reference)))
        assert reward(example, json.dumps(nulls), databases) < NEXT_TO_NOTHING


PIECES = st.sampled_from([
    "{", "}", "[", '"', ":", ",", "\n", "\\", "0,2", "true", "null", "sentiment", "score", "SELECT ", "WITH a AS (",
    ")", " FROM orders", ";", "--", "/*", "'", "*", "-", "#", "%", "R$", "99", "\x00", "\u0301", "\U0001f468\u200d",
    "de ",
])  # fmt: skip
HOSTILE = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=60).map("".join))


@pytest.mark.parametrize("name", TASK_NAMES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(completion=HOSTILE)
def test_no_string_raises_and_components_stay_in_bounds(
    name: TaskName, completion: str, examples: Mapping[TaskName, list[Example]], databases: Databases
) -> None:
    example = examples[name][0]
    for reference in (example.reference, None):
        scored = score(name, completion, reference, example.prompt, databases)
        assert set(scored.components) == set(TASKS[name].rewards["grounded"].weights)
        assert all(0 <= value <= 1 for value in scored.components.values())
        weighted = sum(
            weight * scored.components[part] for part, weight in TASKS[name].rewards["grounded"].weights.items()
        )
        assert scored.reward == pytest.approx(weighted)
        scored.model_dump_json()


@pytest.mark.parametrize("name", TASK_NAMES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0, 1), insert=HOSTILE)
def test_no_damage_to_an_answer_earns_more_than_the_answer(
    name: TaskName, cut: float, insert: str, examples: Mapping[TaskName, list[Example]], databases: Databases
) -> None:
    example = examples[name][1]
    answer = TASKS[name].answer(example.reference)
    place = round(cut * len(answer))
    assert reward(example, answer[:place], databases) <= reward(example, answer, databases) + 1e-9
    reward(example, answer[:place] + insert + answer[place:], databases)


def test_a_scored_rollout_keeps_what_it_came_with_and_can_be_scored_again() -> None:
    rollout = Rollout.model_validate(
        {"prompt_id": "p", "task": "sentiment", "prompt": "?", "completion": "{}", "reference": None, "latency": 3}
    )
    scored = score_rollout(rollout, None)
    assert scored.model_dump()["latency"] == 3
    assert scored.spec == "grounded"
    assert scored.reward_version == reward_version()
    assert score_rollout(scored, None) == scored


def test_components_come_in_a_fixed_order_and_cover_every_task() -> None:
    parts = component_rewards()
    assert parts == component_rewards()
    assert [(task, part) for task, part, _ in parts] == [
        (name, part) for name in TASK_NAMES for part in TASKS[name].rewards["grounded"].weights
    ]


def test_the_reward_version_is_a_sha256() -> None:
    assert len(bytes.fromhex(reward_version())) == 32


@pytest.mark.skipif(not OLIST.is_dir(), reason="needs the real sample in ../shared/olist")
def test_real_reviews_become_prompts_whose_answers_earn_nearly_all() -> None:
    store = read_store(OLIST)
    databases = Databases.from_store(store)
    for name in TASK_NAMES:
        made = list(TASKS[name].examples(store, random.Random(1), COUNT))
        assert len(made) == (0 if name == "churn" else COUNT)
        assert all(reward(example, TASKS[name].answer(example.reference), databases) > 0.95 for example in made)
