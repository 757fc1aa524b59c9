"""Commerce task interface: all that the stages ask of one task, beside its prompts and its audit's probes."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schemas.documents import Rollout
from schemas.tasks import SpecName, TaskName
from tasks.commerce.inputs import TaskInputs
from tasks.commerce.reward import Reference, Reward
from tasks.commerce.served import Served
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.text.lexicons import read_wording

DATA_FILES: Final = ("data/wordings",)
Metric = Callable[[Sequence[Rollout], Databases | None], dict[str, float]]
"""Ground truth: metrics in [0, 1] over the rollouts with references, none if none has one; a task's `truth.py`, which
imports nothing that decides a reward."""


@dataclass(frozen=True, kw_only=True)
class CommerceTask:
    """One task: the `TASK` of `tasks.commerce.NAME.task`."""

    name: TaskName
    description: str
    """What the model is asked, in a line of the model card: `described(__doc__)`, which is part of no digest."""
    inputs: type[TaskInputs]
    answer: Callable[[Reference], str]
    """A fully correct completion made from a reference; unknown values are answered plausibly."""
    rewards: Mapping[SpecName, Reward]
    metric: Metric
    answer_metrics: tuple[str, ...]
    """Metrics that one answer has, and that one made from the reference alone satisfies; the last is the strictest."""
    content: frozenset[str]
    """Components of `grounded` that are scored against the reference; the others, and all of `v4.2`, are form."""
    faults: Callable[[str, random.Random], str]
    """Spoils a right answer for the stand-in's demonstrations (`tasks.stand_in.lessons`)."""
    answers_in_json: bool = False
    asked_by_reference: bool = False
    """Whether the reference identifies the question; elsewhere references are labels, which unrelated prompts share."""
    prompt_is_unread: bool = False
    """Whether `grounded` reads only the completion and the reference: equal answers to other prompts earn the same."""
    serve: Callable[[str, str, Databases | None], Served]
    """Checks an answer to a prompt as the reward does, and gives away what holds of it; it raises nothing. Without
    databases queries are not run."""
    schema: Mapping[str, Any] | None = None
    parts: tuple[str, ...] = ()
    """Keys of the reference of whose values some are never trained on, so that unseen ones are evaluated."""
    grammar: str = ""
    """Grammar of a right answer's form (`tasks.commerce.grammar`), for guided decoding; empty where any text is one."""
    prompt_grammar: Callable[[str], str] | None = None
    """Returns the grammar of the answers to a prompt, where each has its own; an empty one guides nothing."""

    @property
    def system(self) -> str:
        """Return the system prompt."""
        return read_wording(self.name).system

    @property
    def instruction(self) -> str:
        """Return the instruction of a prompt that is asked in production: the first of those that training uses."""
        return read_wording(self.name).instructions[0]


def described(docstring: str) -> str:
    """Return the description that a module's docstring gives after its name: `Push: a push notification.`."""
    return docstring.splitlines()[0].partition(": ")[2].rstrip(".")
