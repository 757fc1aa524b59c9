"""Wordings of system prompts: what ships states the task's facts and no other, and examples are drawn by a seed."""

import pytest

from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import TASKS
from tasks.evaluate.prompts.proposals import facts
from tasks.evaluate.prompts.wordings import OWN, PromptCandidate, choose_shots, shipped, with_shots
from tests.tasks.curate.prompt_rows import prompt_row


@pytest.mark.parametrize("task", TASK_NAMES)
def test_every_task_has_its_own_wording_first_and_three_to_five_others_without_other_facts(task: TaskName) -> None:
    own, *others = shipped(task)
    assert own == PromptCandidate(OWN, 0, TASKS[task].system)
    assert 3 <= len(others) <= 5
    assert len({each.system for each in (own, *others)}) == 1 + len(others)
    for each in others:
        assert facts(each.system) <= facts(own.system), each.name


@pytest.mark.parametrize("task", ["extraction", "sql_qa", "sentiment", "churn"])
def test_what_ships_names_every_field_and_table(task: TaskName) -> None:
    for each in shipped(task):
        assert facts(each.system) == facts(TASKS[task].system), each.name


def test_examples_differ_in_their_answers_and_are_the_same_for_one_seed() -> None:
    rows = [prompt_row("push", f"Pedido {number} " + "de novo " * number) for number in range(12)]
    chosen = choose_shots(rows, 3, 5)
    assert chosen == choose_shots(rows[::-1], 3, 5)
    assert len({row.prompt_id for row in chosen}) == 3
    assert choose_shots(rows, 1, 5) == chosen[:1]
    assert any(choose_shots(rows, 3, 5) != choose_shots(rows, 3, seed) for seed in range(6, 12))
    assert len(choose_shots(rows[:2], 8, 5)) == 2
    # The shorter half: an example is read with every prompt.
    assert max(len(row.prompt) for row in chosen) <= sorted(len(row.prompt) for row in rows)[5]


def test_a_prompt_of_which_nothing_is_known_is_no_example() -> None:
    told = prompt_row("push", "Um pedido comprido demais para vir antes")
    assert choose_shots([prompt_row("push", "Pedido", {"product": None, "offer": None}), told], 2, 5) == [told]


def test_an_example_is_a_prompt_with_the_answer_of_its_reference() -> None:
    row = prompt_row("push", "Pedido 1")
    shown = with_shots(PromptCandidate("own", 0, "Escreva."), [row])
    assert shown.shots == 1
    assert shown.system.startswith("Escreva.\n\nExemplo 1:\n")
    assert shown.system.endswith(f"{row.prompt}\nResposta:\n{TASKS['push'].answer(row.reference)}")
