"""The tasks by name, and the one way to score a rollout.

A seventh task is one module beside this one, named like the task, and its name's line in `schemas.tasks`; the shape of
its references is a document, and so it is in `schemas.references`.
"""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final

from schemas.documents import Rollout, ScoredRollout
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.commerce import lexicons, wordings
from tasks.commerce.commerce_task import CommerceTask
from tasks.commerce.sandbox import Databases

TASKS: Final[Mapping[TaskName, CommerceTask]] = MappingProxyType(
    {name: import_module(f"{__package__}.{name}").TASK for name in TASK_NAMES}
)


def score_rollout(rollout: Rollout, databases: Databases | None, spec: SpecName = "grounded") -> ScoredRollout:
    """Score one rollout by its task.

    Args:
        rollout: The completion with its prompt and what is known of the right answer.
        databases: Copies of the store that sql_qa's questions are about; other tasks do without, and so does `v4.2`.
        spec: Which reward.

    Raises:
        InputError: A sql_qa rollout comes without databases, or its reference query does not run on them. The
            completion, whatever it is, raises nothing.
    """
    reward = TASKS[rollout.task].rewards[spec]
    score = reward.score(rollout.completion, rollout.prompt, rollout.reference, databases)
    # A rollout that was scored before keeps its other keys and gets a new score.
    document = {
        **rollout.__dict__,
        "reward": reward.total(score.components),
        "components": dict(score.components),
        "parsed": score.parsed,
        "spec": spec,
        "reward_version": reward_version(),
    }
    # Rollout and score are valid by now; validating them once more, or looking their fields up as `model_construct`
    # does, would take longer than most scores. So the document is made as it is unpickled.
    scored = ScoredRollout.__new__(ScoredRollout)
    scored.__setstate__(
        {
            "__dict__": document,
            "__pydantic_fields_set__": set(document),
            "__pydantic_extra__": dict(rollout.model_extra or {}),
            "__pydantic_private__": None,
        }
    )
    return scored


def component_rewards(spec: SpecName = "grounded") -> tuple[tuple[TaskName, str, float], ...]:
    """Return every task's components with their weights, always in the same order: the rewards of GDPO (2601.05242)."""
    return tuple(
        (task.name, component, weight)
        for task in TASKS.values()
        for component, weight in task.rewards[spec].weights.items()
    )


@cache
def reward_version() -> str:
    """Return the sha256 of all that decides a reward: equal for equal rewards.

    The wordings are part of it: an echo of the system prompt is told by its text.
    """
    code, lists = Path(__file__).parent.glob("*.py"), lexicons.FOLDER.glob("*.txt")
    digest = hashlib.sha256()
    for path in sorted([*code, *lists, *wordings.FOLDER.glob("*.toml")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
