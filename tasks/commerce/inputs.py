"""Inputs of a task: what a shop gives for one prompt, and the prompt as training writes it; without polars."""

from abc import ABC, abstractmethod
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LONGEST_TEXT, LONGEST_NAME = 5_000, 300


def one_line(text: str) -> str:
    """Return a text on one line, as one of the prompt, without repeated spaces; ValueError where nothing is left."""
    line = " ".join(text.split())
    if not line:
        raise ValueError("it is empty")
    return line


Text = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(one_line)]
Name = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(one_line)]


class TaskInputs(BaseModel, ABC):
    """Inputs of one prompt; each field's description is what a person is asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @abstractmethod
    def prompt(self, instruction: str) -> str:
        """Return the prompt, as training writes it with this instruction."""


class ReviewInputs(TaskInputs):
    """Inputs of the tasks that read a review."""

    review: Text = Field(description="The review, as the shopper wrote it")

    def prompt(self, instruction: str) -> str:
        """Return the prompt."""
        return review_prompt(instruction, self.review)


def review_prompt(instruction: str, review: str) -> str:
    """Return the prompt of a task that reads a review, which has one line."""
    return f"{instruction}\nAvaliação: {review}"
