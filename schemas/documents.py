"""The JSON Lines documents that people and other programs exchange with the pipeline (DESIGN: Documents)."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from schemas.faults import first_fault
from schemas.references import check_reference
from schemas.tasks import SpecName, TaskName


class Rollout(BaseModel):
    """One completion of one prompt, with the reference where it is known. Unknown keys are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    prompt_id: str = Field(min_length=1)
    """Identity of the prompt: the sha256 of its content, in hexadecimal."""
    task: TaskName
    """Which of the six tasks the prompt belongs to; nothing ever guesses it from the text."""
    prompt: str
    """What the shopper or analyst asked, without the system prompt."""
    completion: str
    """What the policy answered: hostile text, of any length."""
    reference: dict[str, Any] | None = None
    """What is known of the right answer, in the shape of its task; None where nothing is."""

    @model_validator(mode="after")
    def _reference_fits_its_task(self) -> Self:
        if self.reference is not None:
            try:
                check_reference(self.task, self.reference)
            except ValidationError as error:
                raise ValueError(f"reference of {self.task}: {first_fault(error)}") from None
        return self


class ScoredRollout(Rollout):
    """A rollout with its reward and the components that the reward was made of."""

    reward: float = Field(ge=0, le=1)
    """The weighted total of the components, in [0, 1]."""
    components: dict[str, float]
    """Each named part of the reward, in [0, 1]."""
    parsed: dict[str, Any] | None
    """The object read from the completion, where the task asks for one and one was found."""
    spec: SpecName
    """The reward specification."""
    reward_version: str
    """Digest of the reward's code and word lists."""


class PairedScore(BaseModel):
    """One score of one model on one prompt: a line of the files that `tucano compare` reads."""

    model_config = ConfigDict(extra="allow", frozen=True)

    prompt_id: str = Field(min_length=1)
    """Identity of the prompt; the same in both files."""
    task: TaskName
    """Which of the six tasks the prompt belongs to."""
    seed: int
    """Seed of the training run that made the model."""
    sample: int = Field(ge=0)
    """Which of several completions of the prompt this is, from 0."""
    score: float = Field(ge=0, le=1, allow_inf_nan=False)
    """The reward, in [0, 1]."""
