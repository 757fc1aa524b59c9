"""Grammars of answers: what a task's reference writes is in its grammar, and what no right answer has is not."""

from collections.abc import Mapping

import pytest

from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example import Example
from tasks.commerce.registry import grammar_of
from tests.cases import cases_of
from tests.tasks.commerce.scoring import rollouts, writes

CASES = cases_of(__file__)


@pytest.mark.parametrize("name", TASK_NAMES)
def test_reference_answers_are_in_the_grammar(examples: Mapping[TaskName, list[Example]], name: TaskName) -> None:
    right = rollouts(examples[name])
    assert [each.completion for each in right if not writes(name, each.completion, each.prompt)] == []


@pytest.mark.parametrize(("task", "answer"), CASES["other_forms_are_not_in_the_grammar"])
def test_other_forms_are_not_in_the_grammar(task: TaskName, answer: str) -> None:
    assert not writes(task, answer, "")


@pytest.mark.parametrize("name", ["insights", "push", "churn"])
def test_a_prompt_of_another_form_has_no_grammar_and_guiding_is_chosen(
    examples: Mapping[TaskName, list[Example]], name: TaskName
) -> None:
    prompt = examples[name][0].prompt
    assert grammar_of(name, prompt, "all") == grammar_of(name, prompt, "forms") != ""
    assert grammar_of(name, prompt, "none") == ""
    assert grammar_of(name, "Sem nada conhecido.", "all") == ""
