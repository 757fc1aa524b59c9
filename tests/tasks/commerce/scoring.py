"""How the tests of the tasks score a completion, and let a grammar write one."""

import json
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


def completions(values: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    """Draw hostile completions: JSON of some values, any text, and any bytes."""
    anything = st.text(alphabet=st.characters())
    return st.one_of(values.map(json.dumps), anything, st.binary().map(lambda raw: raw.decode("latin-1")))


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
def _grammars() -> tuple[Grammars, AutoTokenizer]:
    tokenizer = AutoTokenizer.from_pretrained(STAND_IN_FOLDER)
    return Grammars(tokenizer, len(tokenizer)), tokenizer


def writes(task: TaskName, completion: str, prompt: str) -> bool:
    """Return whether the grammar of a prompt lets a model write a completion and end."""
    known, tokenizer = _grammars()
    tokens = tokenizer.encode(completion, add_special_tokens=False)
    return known.writes(grammar_of(task, prompt, "all"), [*tokens, tokenizer.eos_token_id])
