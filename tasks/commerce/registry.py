"""The six tasks by name, and the one way to score a rollout. A seventh task is one module and one line here."""

import hashlib
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from schemas.documents import Rollout, ScoredRollout
from schemas.errors import InputError
from schemas.tasks import TaskName
from tasks.commerce import churn, extraction, insights, lexicons, push, sentiment, sql_qa
from tasks.commerce.commerce_task import CommerceTask
from tasks.commerce.sandbox import Databases

SPEC: Final = "grounded"

TASKS: Final[Mapping[TaskName, CommerceTask]] = MappingProxyType(
    {task.name: task for task in (extraction.TASK, sql_qa.TASK, insights.TASK, push.TASK, sentiment.TASK, churn.TASK)}
)


def score_rollout(rollout: Rollout, databases: Databases | None) -> ScoredRollout:
    """Score one rollout by its task.

    Args:
        rollout: The completion with its prompt and what is known of the right answer.
        databases: Copies of the store that sql_qa's questions are about; other tasks do without.

    Raises:
        InputError: The reference lacks a key of its task, or a sql_qa rollout comes without databases. The
            completion, whatever it is, raises nothing.
    """
    task = TASKS[rollout.task]
    _check_reference(rollout)
    score = task.score(rollout.completion, rollout.prompt, rollout.reference, databases)
    reward = math.fsum(weight * score.components[name] for name, weight in task.weights.items())
    scored = {
        "reward": min(reward, 1.0),
        "components": dict(score.components),
        "parsed": score.parsed,
        "spec": SPEC,
        "reward_version": reward_version(),
    }
    # A rollout that was scored before keeps its other keys and gets a new score.
    return ScoredRollout(**{**rollout.model_dump(), **scored})


def component_rewards() -> tuple[tuple[TaskName, str, float], ...]:
    """Return every task's components with their weights, always in the same order: the rewards of GDPO (2601.05242)."""
    return tuple(
        (task.name, component, weight) for task in TASKS.values() for component, weight in task.weights.items()
    )


@cache
def reward_version() -> str:
    """Return the sha256 of the rewards' source and word lists: equal for equal rewards."""
    digest = hashlib.sha256()
    for path in sorted([*Path(__file__).parent.glob("*.py"), *lexicons.FOLDER.glob("*.txt")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _check_reference(rollout: Rollout) -> None:
    from schemas.prompts import REFERENCE_KEYS

    missing = [
        key for key in REFERENCE_KEYS[rollout.task] if rollout.reference is not None and key not in rollout.reference
    ]
    if missing:
        raise InputError(
            f"the reference of {rollout.task} rollout {rollout.prompt_id!r} lacks {', '.join(missing)}; "
            "give it, null where unknown"
        )
