"""References that people gave for the prompts of a dataset (docs/documents.md).

Only fields that a person can read in the prompt's text are asked for. A field with null was asked, and the person could
not tell; a field that is left out was not asked.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from schemas.faults import first_fault
from schemas.json_lines import read_json_lines
from schemas.references import ExtractionFields, check_reference
from schemas.tasks import TaskName

AskedTask = Literal["extraction", "sentiment"]
ASKED_FIELDS: Final[Mapping[TaskName, tuple[str, ...]]] = {
    "extraction": tuple(ExtractionFields.model_fields),
    "sentiment": ("polarity", "score"),
}
"""The fields that people are asked for, by task, in the order of the questions."""
_UNKNOWN: Final[Mapping[AskedTask, Mapping[str, Any]]] = {
    "extraction": {"rating": None, "fields": None},
    "sentiment": {"polarity": None, "score": None},
}


class GivenReference(BaseModel):
    """Part of a prompt's reference that one person gave."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    prompt_id: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    task: AskedTask
    reference: dict[str, Any]
    """The fields that were asked, in the shape of the task's reference; null where the person could not tell."""
    rater: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,30}$")]

    @model_validator(mode="after")
    def _is_of_its_task(self) -> "GivenReference":
        known = ("fields",) if self.task == "extraction" else ASKED_FIELDS[self.task]
        if not self.reference.keys() <= set(known):
            raise ValueError(f"reference has a key that nobody is asked for; of {self.task} it has {', '.join(known)}")
        try:
            check_reference(self.task, {**_UNKNOWN[self.task], **self.reference})
        except ValidationError as error:
            # The error's own message would repeat what is there.
            raise ValueError(f"reference: {first_fault(error)}") from None
        return self

    @property
    def values(self) -> Mapping[str, Any]:
        """Return the fields that were asked, by name."""
        return values_of(self.task, self.reference)


def read_given(path: Path) -> tuple[GivenReference, ...]:
    """Return the references that people gave; of a file from which the last one was taken out, none."""
    if path.is_file() and not path.stat().st_size:
        return ()
    return read_json_lines(path, GivenReference, "references")


def values_of(task: TaskName, reference: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a reference that people may be asked for, by name; other tasks have none."""
    known = (reference.get("fields") or {}) if task == "extraction" else reference
    return {name: known[name] for name in ASKED_FIELDS.get(task, ()) if name in known}


def with_values(task: TaskName, reference: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reference with these fields in it."""
    if task == "extraction":
        return {**reference, "fields": {**(reference.get("fields") or {}), **values}}
    return {**reference, **values}
