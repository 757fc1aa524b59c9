"""A prompt with its right answer: what completions of known worth are made from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from schemas.tasks import TaskName
from tasks.commerce.commerce_task import Reference
from tasks.commerce.registry import TASKS

Completions = Mapping[str, str]
"""Completions by what they are, in a few words that a report can show."""


@dataclass(frozen=True)
class Asked:
    """A prompt, what is known of its right answer, and that answer."""

    task: TaskName
    prompt: str
    reference: Reference
    right: str
    """The reference answer."""

    @classmethod
    def of(cls, task: TaskName, prompt: str, reference: Reference) -> "Asked":
        """Make the right answer of a prompt."""
        return cls(task, prompt, reference, TASKS[task].answer(reference))


Maker = Callable[[Asked], Completions]
"""Makes completions for a prompt; none where the prompt or its reference gives nothing to make them of."""
