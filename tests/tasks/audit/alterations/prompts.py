"""Prompts of the shipped store with their references, as an audit has them, and the reward that is audited."""

import random
from functools import cache

from schemas.config.config import AUDIT_FOLDER
from schemas.documents import Rollout
from schemas.store.files import read_store
from schemas.tasks import TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import RolloutScorer, scorer_on

STORE = AUDIT_FOLDER / "store"


@cache
def prompts(task: TaskName, count: int = 16) -> tuple[Rollout, ...]:
    """Return rollouts without an answer, one of each prompt."""
    examples = EXAMPLE_MAKERS[task](read_store(STORE), random.Random(0), count)
    return tuple(
        Rollout(prompt_id=f"p{place}", task=task, prompt=each.prompt, completion="-", reference=each.reference)
        for place, each in enumerate(examples)
    )


@cache
def score(task: TaskName) -> RolloutScorer:
    """Return the reward of `grounded`."""
    return scorer_on([task], STORE, "grounded")
