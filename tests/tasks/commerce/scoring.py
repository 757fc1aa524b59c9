"""How the tests of the tasks score a completion, and let a grammar write one."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st
from transformers import AutoTokenizer

from schemas.documents import Rollout, ScoredRollout
from schemas.tasks import SpecName, TaskName
from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS, grammar_of, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.guidance import Grammars
from tasks.policy.published import STAND_IN_FOLDER


def score(
    task: TaskName,
    completion: str,
    reference: Mapping[str, Any] | None,
    prompt: str = "",
    databases: Databases | None = None,
    spec: SpecName = "grounded",
) -> ScoredRollout:
    """Score one completion."""
    rollout = Rollout(
        prompt_id="p",
        task=task,
        prompt=prompt,
        completion=completion,
        reference=None if reference is None else dict(reference),
    )
    return score_rollout(rollout, databases, spec)


def reward(example: Example, completion: str, databases: Databases) -> float:
    """Return the reward of a completion of an example."""
    return score(example.task, completion, example.reference, example.prompt, databases).reward


PIECES = st.sampled_from([
    "{", "}", "[", "]", '"', "'", ":", ",", "\n", "\\", " ", '{"a":', "true", "null", "1", "0,2", "R$ 1.234,56", "80%",
    "NaN", "1e999", "sentiment", "score", "SELECT ", "WITH a AS (", ")", " FROM orders", ";", "--", "/*", "*", "#",
    "\x00", "\u0301", "\U0001f468\u200d", "de ", "é", "```json\n", "```", "<think>", "</think>", "\ud800", "“", "//",
])  # fmt: skip
HOSTILE = st.one_of(
    st.text(max_size=200),
    st.lists(PIECES, max_size=60).map("".join),
    st.binary(max_size=200).map(lambda raw: raw.decode("utf-8", errors="surrogateescape")),
    st.tuples(PIECES, st.integers(0, 3_000)).map(lambda each: each[0] * each[1]),
)
"""Completions that no right answer resembles."""


def rollouts(examples: Sequence[Example], completion: str | None = None) -> list[Rollout]:
    """Return a rollout of each example, with its reference answer if no completion is given."""
    return [
        Rollout(
            prompt_id=str(number),
            task=example.task,
            prompt=example.prompt,
            completion=TASKS[example.task].answer(example.reference) if completion is None else completion,
            reference=example.reference,
        )
        for number, example in enumerate(examples)
    ]


@cache
def grammars() -> tuple[Grammars, Any]:
    """Return the grammars as the stand-in's tokenizer writes them, and the tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(STAND_IN_FOLDER)
    return Grammars(tokenizer, len(tokenizer)), tokenizer


def writes(task: TaskName, completion: str, prompt: str) -> bool:
    """Return whether the grammar of a prompt lets a model write a completion and end."""
    known, tokenizer = grammars()
    tokens = tokenizer.encode(completion, add_special_tokens=False)
    return known.writes(grammar_of(task, prompt, "all"), [*tokens, tokenizer.eos_token_id])
