"""A prompt of a shop's own, as one line of JSON, which `tucano curate` takes beside the tables of synthesis."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from schemas.prompts import canonical_json
from schemas.tasks import TaskName


class PromptLine(BaseModel):
    """One prompt with its reference and where it came from; an unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: TaskName
    """Which of the six tasks it belongs to."""
    prompt: str = Field(min_length=1)
    """What is asked."""
    reference: dict[str, Any]
    """What is known of the right answer, in the shape of its task; null in it is what nobody knows."""
    system: str | None = Field(default=None, min_length=1)
    """The system text; the task's own where not given."""
    source: str = Field(default="own", pattern=r"^[a-z0-9_-]{1,40}$")
    """Where it comes from, in a word."""
    customer_id: str | None = Field(default=None, min_length=1)
    """A pseudonym of the customer: prompts of one customer are never on two sides."""
    order_id: str | None = Field(default=None, min_length=1)
    """The order."""
    review_id: str | None = Field(default=None, min_length=1)
    """The review."""
    parent_id: str | None = None
    """The `prompt_id` of the prompt that this one is a paraphrase of."""
    prompt_id: str | None = None
    """The sha256 of its content; made where not given."""

    @field_validator("reference")
    @classmethod
    def _reference_can_be_written(cls, reference: dict[str, Any]) -> dict[str, Any]:
        try:
            canonical_json(reference).encode()
        except (ValueError, RecursionError):
            raise ValueError("must be JSON with finite numbers and whole characters") from None
        return reference
