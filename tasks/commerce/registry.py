"""Registry of the tasks, the one way to score a rollout, and the version of each task's reward."""

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Final

from schemas.documents import Rollout, ScoredRollout
from schemas.source import source_digest
from schemas.tasks import CITED_TASKS, TASK_NAMES, Guided, SpecName, TaskName
from tasks.commerce.commerce_task import CommerceTask
from tasks.commerce.reward import Reward
from tasks.commerce.sql_qa.sandbox import Databases

FOUND_MODULES: Final = ("tasks.commerce.*.task", "tasks.commerce.*.cited.task")
TASKS: Final[Mapping[TaskName, CommerceTask]] = MappingProxyType(
    {name: import_module(f"tasks.commerce.{name}.task").TASK for name in TASK_NAMES}
)
IN_EVIDENCE: Final[Mapping[TaskName, CommerceTask]] = MappingProxyType(
    {name: import_module(f"tasks.commerce.{name}.cited.task").TASK for name in CITED_TASKS}
)
_CITED: Final[Mapping[TaskName, CommerceTask]] = MappingProxyType({**TASKS, **IN_EVIDENCE})


def tasks_of(spec: SpecName) -> Mapping[TaskName, CommerceTask]:
    """Return the tasks as a specification asks for them."""
    return _CITED if spec == "cited" else TASKS


def reward_of(task: TaskName, spec: SpecName) -> Reward:
    """Return a task's reward under a specification."""
    rewards = tasks_of(spec)[task].rewards
    return rewards["grounded"] if spec == "cited" and spec not in rewards else rewards[spec]


def grammars(guided: Guided) -> dict[TaskName, str]:
    """Return the grammars that guide answers to any prompt, by the tasks that have one."""
    return {name: known.grammar for name, known in TASKS.items() if known.grammar and _guides(guided, known)}


def grammar_of(task: TaskName, prompt: str, guided: Guided, spec: SpecName) -> str:
    """Return the grammar that guides the answer to a prompt; empty where any text may be one."""
    known = tasks_of(spec)[task]
    if not _guides(guided, known):
        return ""
    return known.prompt_grammar(prompt) if known.prompt_grammar else known.grammar


def _guides(guided: Guided, task: CommerceTask) -> bool:
    return guided == "all" or (guided == "json" and task.answers_in_json)


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
    reward = reward_of(rollout.task, spec)
    score = reward.score(rollout.completion, rollout.prompt, rollout.reference, databases)
    # A rollout that was scored before keeps its other keys and gets a new score.
    document = {
        **rollout.__dict__,
        "reward": reward.total(score.components),
        "components": dict(score.components),
        "parsed": score.parsed,
        "spec": spec,
        "reward_version": reward_version(rollout.task, spec),
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
        for component, weight in reward_of(task.name, spec).weights.items()
    )


@cache
def reward_version(task: TaskName, spec: SpecName = "grounded") -> str:
    """Return the sha256 of all that decides one task's reward: equal for equal rewards.

    A task has one version for all specifications, unless `cited` asks for it in another form.

    It is the digest of the scorer's code, its word lists and its wording, for an echo of the system prompt is
    recognized by its text. What only makes prompts, and the other tasks, are no part of it.
    """
    form = ".cited" if spec == "cited" and task in IN_EVIDENCE else ""
    return source_digest(f"{__package__}.{task}{form}.scorer")


def reward_versions(tasks: Iterable[TaskName] = TASK_NAMES, spec: SpecName = "grounded") -> dict[TaskName, str]:
    """Return the version of each of some tasks' rewards, in the order of `TASK_NAMES`."""
    wanted = set(tasks)
    return {task: reward_version(task, spec) for task in TASK_NAMES if task in wanted}


def joint_version(spec: SpecName = "grounded") -> str:
    """Return the digest of the versions of all tasks, for a document that covers several."""
    lines = (f"{version}  {task}\n" for task, version in reward_versions(spec=spec).items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()
