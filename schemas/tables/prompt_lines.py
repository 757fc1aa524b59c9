"""Prompt of a shop's own as one line of JSON, which `tucano curate` accepts as well as the tables of synthesis."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from schemas.tables.prompts import canonical_json
from schemas.tasks import TaskName


class PromptLine(BaseModel):
    """One prompt with its reference and its origin; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: TaskName
    prompt: str = Field(min_length=1)
    reference: dict[str, Any]
    """The known part of the right answer, in the shape of its task; null marks unknown values."""
    system: str | None = Field(default=None, min_length=1)
    """The system prompt; the task's own where not given."""
    source: str = Field(default="own", pattern=r"^[a-z0-9_-]{1,40}$")
    customer_id: str | None = Field(default=None, min_length=1)
    """A pseudonym of the customer: prompts of one customer are never in different splits."""
    order_id: str | None = Field(default=None, min_length=1)
    review_id: str | None = Field(default=None, min_length=1)
    parent_id: str | None = None
    """The `prompt_id` of the prompt that this one is a paraphrase of."""
    prompt_id: str | None = None
    """The sha256 of its content; computed where not given."""

    @field_validator("reference")
    @classmethod
    def _reference_can_be_written(cls, reference: dict[str, Any]) -> dict[str, Any]:
        try:
            canonical_json(reference).encode()
        except (ValueError, RecursionError):
            raise ValueError("must be JSON with finite numbers and whole characters") from None
        return reference
