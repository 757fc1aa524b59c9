"""Insights in findings as a task: its examples, its right answers, and the grammar that holds a model to a table."""

import json
import random
from collections import Counter
from collections.abc import Mapping

from schemas.tasks import TaskName
from tasks.commerce.example import Example
from tasks.commerce.insights.scorer import STRONGEST, check
from tasks.commerce.insights.table import actions_on
from tests.tasks.commerce.insights.tables import answer_of, finding, table_of
from tests.tasks.commerce.scoring import rollouts, writes

Examples = Mapping[TaskName, list[Example]]


def test_the_grammar_writes_right_answers_and_no_other_key_word_or_ending(examples: Examples) -> None:
    for rollout in rollouts(examples["insights"]):
        assert writes("insights", rollout.completion, rollout.prompt)
        (first, *others) = json.loads(rollout.completion)["achados"]
        for key, value in (("coluna", "Margem"), ("acao", "vender"), ("fato", "bom")):
            wrong = json.dumps({"achados": [{**first, key: value}, *others]}, ensure_ascii=False, separators=(",", ":"))
            assert not writes("insights", wrong, rollout.prompt), key
        assert not writes("insights", f"{rollout.completion} ", rollout.prompt)


def test_the_grammar_writes_a_finding_where_the_checker_finds_no_fault_in_it(examples: Examples) -> None:
    generator, found = random.Random(7), Counter[bool]()
    for rollout in rollouts(examples["insights"]):
        table = table_of(rollout.prompt)
        findings = json.loads(rollout.completion)["achados"]
        for _ in range(40):
            row, title = generator.choice(list(table.texts))
            other = generator.choice(table.rows)
            fact = generator.choice(STRONGEST)
            action = generator.choice(["", *(each.id for each in actions_on(table.kind, title.lower()))])
            written = finding(fact, table.texts[row, title], row, title)
            del written["acao"]
            written |= ({"outra": other} if fact == "razao" else {}) | {"acao": action}
            holds = check(table, [written])[0].fault is None
            found[holds] += 1
            sound = next(each for each in findings if (each["linha"], each["coluna"]) != (row, title))
            assert writes("insights", answer_of(written, sound), rollout.prompt) == holds, written
    assert min(found.values()) > 50


def test_the_only_cell_of_a_fact_is_not_told_twice_in_a_row() -> None:
    prompt = "Estado | Nota média\nSP | 4,0\nBA | 4,5\nRJ | 3,0"
    best, second = (finding(fact, "4,5", "BA", "Nota média") for fact in ("melhor", "maior"))
    lowest = finding("menor", "3,0", "RJ", "Nota média")
    assert not writes("insights", answer_of(best, best), prompt)
    assert not writes("insights", answer_of(best, second), prompt)
    assert writes("insights", answer_of(best, lowest), prompt)
    assert writes("insights", answer_of(best, lowest, best), prompt)


def test_names_that_contain_one_another_are_apart_in_the_grammar() -> None:
    prompt = "Estado | Receita\nMato Grosso | R$ 9\nMato Grosso do Sul | R$ 90"
    of_sul, of_other = finding("valor", "R$ 90", "Mato Grosso do Sul"), finding("valor", "R$ 90", "Mato Grosso")
    assert writes("insights", answer_of(of_sul, of_sul), prompt)
    assert not writes("insights", answer_of(of_sul, of_other), prompt)
