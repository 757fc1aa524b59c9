"""Registry of the tasks, the one way to score a rollout, and the version of each task's reward."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final

from schemas.documents import Rollout, ScoredRollout
from schemas.source import source_digest
from schemas.tasks import TASK_NAMES, Guided, SpecName, TaskName
from tasks.commerce.commerce_task import CommerceTask
from tasks.commerce.reward import Reward, StepReward
from tasks.commerce.sql_qa.sandbox import Databases

FOUND_MODULES: Final = ("tasks.commerce.*.task",)
TASKS: Final[Mapping[TaskName, CommerceTask]] = MappingProxyType(
    {name: import_module(f"tasks.commerce.{name}.task").TASK for name in TASK_NAMES}
)


def reward_of(task: TaskName, spec: SpecName) -> Reward:
    """Return a task's reward under a specification."""
    return TASKS[task].rewards[spec]


SERVED: Final[Guided] = "forms"
"""The tasks whose answers are guided where they are served, and so where they are evaluated."""


def grammars(guided: Guided) -> dict[TaskName, str]:
    """Return the grammars that guide answers to any prompt, by the tasks that have one."""
    return {name: known.grammar for name, known in TASKS.items() if known.grammar and _guides(guided, known)}


def grammar_of(task: TaskName, prompt: str, guided: Guided) -> str:
    """Return the grammar that guides the answer to a prompt; empty where any text may be one."""
    known = TASKS[task]
    if not _guides(guided, known):
        return ""
    return known.prompt_grammar(prompt) if known.prompt_grammar else known.grammar


def _guides(guided: Guided, task: CommerceTask) -> bool:
    return guided == "all" or (guided == "forms" and (task.answers_in_json or task.prompt_grammar is not None))


def score_rollout(rollout: Rollout, databases: Databases | None, spec: SpecName = "grounded") -> ScoredRollout:
    """Score one rollout by its task; InputError where sql_qa's has no databases, or its reference does not run."""
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
    names, extra = set(document), dict(rollout.model_extra or {})
    state = {"__dict__": document, "__pydantic_fields_set__": names, "__pydantic_extra__": extra}
    scored = ScoredRollout.__new__(ScoredRollout)
    scored.__setstate__({**state, "__pydantic_private__": None})
    return scored


RolloutScorer = Callable[[Rollout], ScoredRollout]


def scorer_on(tasks: Iterable[TaskName], store: Path, spec: SpecName) -> RolloutScorer:
    """Return the reward of some tasks as a function of a rollout; InputError where the store cannot be read."""
    databases = Databases.open(store) if "sql_qa" in set(tasks) else None
    return partial(score_rollout, databases=databases, spec=spec)


def score_beside(scored: Sequence[ScoredRollout], spec: SpecName = "grounded") -> list[ScoredRollout]:
    """Return a step's scored rollouts with what the others decide of each one's reward, in the same order."""
    found = list(scored)
    for task in dict.fromkeys(rollout.task for rollout in scored):
        reward = reward_of(task, spec)
        if isinstance(reward, StepReward):
            places = [place for place, rollout in enumerate(scored) if rollout.task == task]
            shares = reward.among([scored[place].completion for place in places])
            for place, share in zip(places, shares, strict=True):
                known = scored[place].components
                components = {**known, reward.component: share * known[reward.component]}
                changed = {"components": components, "reward": reward.total(components)}
                found[place] = scored[place].model_copy(update=changed)
    return found


def component_rewards(spec: SpecName = "grounded") -> tuple[tuple[TaskName, str, float], ...]:
    """Return every task's components with their weights, always in the same order: the rewards of GDPO (2601.05242)."""
    return tuple(
        (task.name, component, weight)
        for task in TASKS.values()
        for component, weight in reward_of(task.name, spec).weights.items()
    )


@cache
def reward_version(task: TaskName, spec: SpecName = "grounded") -> str:
    """Return the digest of the module that scores and of the data that it reads: equal for equal rewards."""
    return source_digest(reward_of(task, spec).score.__module__)


def reward_versions(tasks: Iterable[TaskName] = TASK_NAMES, spec: SpecName = "grounded") -> dict[TaskName, str]:
    """Return the version of each of some tasks' rewards, in the order of `TASK_NAMES`."""
    wanted = set(tasks)
    return {task: reward_version(task, spec) for task in TASK_NAMES if task in wanted}


def joint_version(spec: SpecName = "grounded") -> str:
    """Return the digest of the versions of all tasks, for a document that covers several."""
    lines = (f"{version}  {task}\n" for task, version in reward_versions(spec=spec).items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()
