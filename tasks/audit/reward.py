"""The reward under audit, as a function of a rollout."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from schemas.documents import Rollout, ScoredRollout
from schemas.tasks import SpecName, TaskName
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa.sandbox import Databases

RewardFunction = Callable[[Rollout], ScoredRollout]


def reward_of(tasks: Iterable[TaskName], store: Path, spec: SpecName) -> RewardFunction:
    """Return the reward of some tasks.

    Raises:
        InputError: The store cannot be read.
    """
    databases = Databases.open(store) if "sql_qa" in set(tasks) else None
    return partial(score_rollout, databases=databases, spec=spec)
