"""Prompts that are asked in production, from a task's inputs."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from schemas.errors import InputError
from schemas.faults import first_fault
from schemas.references import check_reference
from schemas.tables.prompts import PromptRow, content_id
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS


def question_of(task: TaskName, values: Mapping[str, Any], *, reference: Mapping[str, Any] | None = None) -> PromptRow:
    """Return the prompt of a task's inputs by name, as training writes it; numbers may be written as text."""
    try:
        inputs = TASKS[task].inputs.model_validate(values)
    except ValidationError as error:
        named = ", ".join(field if needed else f"[{field}]" for field, needed in fields_of(task).items())
        raise InputError(f"the inputs of {task} are {named}: {first_fault(error)}; give each its value") from None
    return asked_row(task, TASKS[task].system, inputs.prompt(TASKS[task].instruction), reference)


def fields_of(task: TaskName) -> dict[str, bool]:
    """Return whether a task needs an input, by the inputs' names in their order."""
    return {name: field.is_required() for name, field in TASKS[task].inputs.model_fields.items()}


def asked_row(
    task: TaskName, system: str, prompt: str, reference: Mapping[str, Any] | None = None, prompt_id: str | None = None
) -> PromptRow:
    """Return the row of a prompt that is of no store, with the identity of its content where none is given."""
    if reference is not None:
        try:
            check_reference(task, dict(reference))
        except ValidationError as error:
            raise InputError(f"its reference is none of {task}: {first_fault(error)}") from None
    known = dict(reference or {})
    return PromptRow(
        prompt_id=prompt_id or content_id(task, system, prompt, known),
        task=task,
        system=system,
        prompt=prompt,
        reference=known,
        source="asked",
        customer_id=None,
        order_id=None,
        review_id=None,
    )
