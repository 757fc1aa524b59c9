"""Grammars of answers: what a task's reference writes is in its grammar, and what no right answer has is not."""

from collections.abc import Mapping
from functools import cache

import pytest
from llguidance import LLMatcher, LLTokenizer
from llguidance.hf import from_tokenizer

from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS, grammar_of
from tasks.stand_in.model import build_tokenizer
from tests.cases import cases_of

CASES = cases_of(__file__)
GUIDED = [name for name in TASK_NAMES if TASKS[name].grammar]
"""The tasks whose answers to any prompt have one grammar; the others' are tested with their prompts."""


@pytest.fixture(scope="module")
def tokenizer() -> LLTokenizer:
    return from_tokenizer(build_tokenizer(["o pedido chegou"] * 9, 512))


@cache
def started(tokenizer: LLTokenizer, task: TaskName) -> LLMatcher:
    return LLMatcher(tokenizer, TASKS[task].grammar, log_level=0)


def accepts(tokenizer: LLTokenizer, task: TaskName, answer: str) -> bool:
    matcher = started(tokenizer, task).deep_copy()
    tokens = tokenizer.tokenize_str(answer)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


@pytest.mark.parametrize("name", GUIDED)
def test_reference_answers_are_in_the_grammar(
    tokenizer: LLTokenizer, examples: Mapping[TaskName, list[Example]], name: TaskName
) -> None:
    answers = [TASKS[name].answer(example.reference) for example in examples[name]]
    assert [answer for answer in answers if not accepts(tokenizer, name, answer)] == []


@pytest.mark.parametrize(("task", "answer"), CASES["other_forms_are_not_in_the_grammar"])
def test_other_forms_are_not_in_the_grammar(tokenizer: LLTokenizer, task: TaskName, answer: str) -> None:
    assert not accepts(tokenizer, task, answer)


@pytest.mark.parametrize("name", ["insights", "push", "churn"])
def test_a_prompt_of_another_form_has_no_grammar_and_guiding_is_chosen(
    examples: Mapping[TaskName, list[Example]], name: TaskName
) -> None:
    prompt = examples[name][0].prompt
    assert grammar_of(name, prompt, "all") == grammar_of(name, prompt, "forms") != ""
    assert grammar_of(name, prompt, "none") == ""
    assert grammar_of(name, "Sem nada conhecido.", "all") == ""
