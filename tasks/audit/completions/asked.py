"""Prompt with its right answer, from which completions of known quality are made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.commerce.reward import Reference

Completions = Mapping[str, str]
"""Completions by a short description for reports."""


@dataclass(frozen=True)
class Asked:
    """A prompt, its reference, and the right answer."""

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
"""Makes completions for a prompt; empty if the prompt or its reference is insufficient."""
