"""The critic: how much of a good answer's reward each alteration loses.

A reward that pays for a corruption pays for the wrong thing, and one that punishes a rewrite teaches a template. The
library is written apart from the rewards, and only this module scores.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from types import MappingProxyType
from typing import Final, NamedTuple

from schemas.tables.prompts import PromptRow
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.critic.alteration import LIMITS, Case, CriticAlteration, Kind, Severity, within_limit
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.sql_qa.sandbox import Database, Databases

FOUND_MODULES: Final = ("tasks.audit.critic.*",)


def _alterations(name: TaskName) -> tuple[CriticAlteration, ...]:
    """Return the alterations of a task; none of a new one that nobody attacks yet."""
    if find_spec(f"tasks.audit.critic.{name}") is None:
        return ()
    found: tuple[CriticAlteration, ...] = import_module(f"tasks.audit.critic.{name}").ALTERATIONS
    return found


ALTERATIONS: Final[Mapping[TaskName, tuple[CriticAlteration, ...]]] = MappingProxyType(
    {name: _alterations(name) for name in TASK_NAMES}
)


class Criticism(NamedTuple):
    """One alteration of one good answer."""

    task: TaskName
    name: str
    kind: Kind
    severity: Severity
    prompt_id: str
    good: float
    """Reward of the good answer."""
    altered: float
    """Reward of the altered one."""
    loss: float
    """Share of the good answer's reward that is lost; negative where the altered one earns more."""
    within: bool
    """Whether a corruption loses enough, or a rewrite little enough."""
    completion: str


class Standing(NamedTuple):
    """One alteration over all prompts to which it applies."""

    task: TaskName
    name: str
    kind: Kind
    severity: Severity
    applied: float
    """Share of the prompts to which it applies."""
    loss: float
    """Median loss."""
    within: float
    """Share of the losses within the limit."""

    @property
    def limit(self) -> float:
        """Return the least loss of a corruption, or the greatest of a rewrite."""
        return LIMITS[self.severity]

    @property
    def met(self) -> bool:
        """Return whether the median loss is within the limit."""
        return within_limit(self.severity, self.loss)


def criticize(
    task: TaskName,
    rows: Iterable[PromptRow],
    seed: int,
    databases: Databases | None = None,
    witness: Database | None = None,
) -> Iterator[Criticism]:
    """Yield what each alteration loses on each prompt to which it applies.

    Args:
        task: The task, of which the rows are.
        rows: Prompts with their references.
        seed: Decides what the alterations leave to chance.
        databases: Copies of the store for sql_qa.
        witness: Another store, for sql_qa: a corruption counts only where its rows differ there.
    """
    for row in rows:
        case = case_of(row, witness)
        good = reward_of(row, case.answer, databases)
        for alteration in ALTERATIONS[task]:
            completion = alteration.apply(case, seed)
            if completion is None or not good:
                continue
            altered = reward_of(row, completion, databases)
            loss = 1 - altered / good
            known = (task, alteration.name, alteration.kind, alteration.severity, row.prompt_id)
            yield Criticism(*known, good, altered, loss, within_limit(alteration.severity, loss), completion)


def case_of(row: PromptRow, witness: Database | None = None) -> Case:
    """Return a prompt with its good answer: the one that its reference gives."""
    answer = TASKS[row.task].answer(row.reference)
    return Case(row.task, row.prompt_id, row.prompt, row.reference, answer, witness)


def standings(task: TaskName, criticisms: Sequence[Criticism], prompts: int) -> list[Standing]:
    """Sum up what each alteration of a task loses, in the library's order; one that applied nowhere is left out.

    Args:
        task: The task.
        criticisms: Of any tasks.
        prompts: Number of prompts of the task that were criticized.
    """
    by_name: dict[str, list[Criticism]] = {}
    for criticism in criticisms:
        if criticism.task == task:
            by_name.setdefault(criticism.name, []).append(criticism)
    return [
        Standing(
            task,
            alteration.name,
            alteration.kind,
            alteration.severity,
            len(found) / prompts,
            median(criticism.loss for criticism in found),
            sum(criticism.within for criticism in found) / len(found),
        )
        for alteration in ALTERATIONS[task]
        if (found := by_name.get(alteration.name))
    ]


def reward_of(row: PromptRow, completion: str, databases: Databases | None) -> float:
    """Return what a completion of a prompt earns; sql_qa needs copies of the store."""
    return score_rollout(row.answered(completion), databases).reward
