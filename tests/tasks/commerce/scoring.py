"""How the tests of the tasks score a completion."""

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from schemas.documents import Rollout, ScoredRollout
from schemas.tasks import SpecName, TaskName
from tasks.commerce.example import Example
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa.sandbox import Databases


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
