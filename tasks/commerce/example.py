"""Prompt of a commerce task with its reference."""

from dataclasses import dataclass
from typing import Any

from schemas.tasks import TaskName


@dataclass(frozen=True)
class Example:
    """A prompt, its reference, and the rows of the store that both came from."""

    task: TaskName
    system: str
    """The task's instruction to the model, the same in every example of the task."""
    prompt: str
    reference: dict[str, Any]
    """Known facts of the right answer, in the form of its task (`schemas.references`)."""
    customer_id: str | None = None
    """Olist's `customer_unique_id`: the person; never part of the prompt."""
    order_id: str | None = None
    review_id: str | None = None
