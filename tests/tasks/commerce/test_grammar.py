"""Grammars of answers: what a task's reference writes is in its grammar, and what no right answer has is not."""

import random
from collections.abc import Mapping
from functools import cache

import pytest
from llguidance import LLMatcher, LLTokenizer, grammar_from
from llguidance.hf import from_tokenizer

from schemas.store.store import Store
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS, grammar_of
from tasks.commerce.sql_qa.prompts import read_families, values_of
from tasks.stand_in.model import build_tokenizer

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
def test_vllm_takes_a_grammar_as_it_is(tokenizer: LLTokenizer, name: TaskName) -> None:
    """Its backend `guidance` gives the text of `structured_outputs.grammar` to `grammar_from`."""
    assert grammar_from("grammar", TASKS[name].grammar) == TASKS[name].grammar
    assert not LLMatcher(tokenizer, TASKS[name].grammar, log_level=0).is_error()


@pytest.mark.parametrize("name", GUIDED)
def test_reference_answers_are_in_the_grammar(
    tokenizer: LLTokenizer, examples: Mapping[TaskName, list[Example]], name: TaskName
) -> None:
    answers = [TASKS[name].answer(example.reference) for example in examples[name]]
    assert [answer for answer in answers if not accepts(tokenizer, name, answer)] == []


def test_every_reference_query_is_in_the_grammar(tokenizer: LLTokenizer, store: Store) -> None:
    values, generator = values_of(store), random.Random(1)
    for family in read_families():
        combinations = family.combinations(values)
        for _ in range(3):
            sql = family.question(values, 0, generator.randrange(combinations)).sql
            assert accepts(tokenizer, "sql_qa", sql), sql


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT price FROM items WHERE price > 10 ORDER BY price DESC, 1 LIMIT 5",
        "SELECT o.order_id AS pedido\nFROM orders AS o\nLEFT JOIN items i ON o.order_id = i.order_id\nLIMIT 3;",
        "SELECT MAX(total) FROM (SELECT SUM(price) AS total FROM items GROUP BY order_id) t",
        "SELECT order_id FROM items UNION ALL SELECT order_id FROM payments",
        "SELECT CASE WHEN price > 10 AND NOT price IS NULL THEN 'a' ELSE 'b' END, COUNT(*) FROM items GROUP BY 1",
    ],
)
def test_other_queries_are_in_the_grammar_too(tokenizer: LLTokenizer, sql: str) -> None:
    assert accepts(tokenizer, "sql_qa", sql)


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("sql_qa", "DELETE FROM orders"),
        ("sql_qa", "SELECT preco FROM items"),
        ("sql_qa", "SELECT total FROM items"),
        ("sql_qa", "SELECT price FROM pedidos"),
        ("sql_qa", "SELECT name FROM sqlite_master"),
        ("sql_qa", "SELECT printf('%999999999d', price) FROM items"),
        ("sql_qa", "SELECT price FROM items -- caros"),
        ("sql_qa", "SELECT price FROM items; SELECT price FROM items"),
        ("sentiment", '{"polarity":"positive","score":6}'),
        ("sentiment", '{"score":5,"polarity":"positive"}'),
        ("sentiment", '{"polarity":"positive","score":5,"why":"x"}'),
        ("sentiment", '{"polarity":"positiva","score":5}'),
    ],
)
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
