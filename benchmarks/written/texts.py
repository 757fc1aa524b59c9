"""Answers as a good analyst or copywriter of a shop would write them, and bad ones, for simulated prompts.

`texts.jsonl` has one answer a line. Language models wrote them, no people, unaware of rewards, word lists and tests.
The set `mended` was shown to the rewards' authors after its first scoring; of the set `quoted` they were told figures
and findings. Nothing of the set `unseen` was: do not write rules by it, or its figures say nothing.
"""

from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from schemas.json_lines import read_json_lines
from schemas.tasks import TaskName

TEXTS_FILE: Final = Path(__file__).with_name("texts.jsonl")
TextSet = Literal["mended", "quoted", "unseen"]


class WrittenAnswer(BaseModel):
    """Answer to a prompt."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: TaskName
    set: TextSet
    prompt: str = Field(min_length=1)
    reference: dict[str, Any]
    completion: str = Field(min_length=1)
    good: bool
    """Whether its author meant it to be good."""
    first_share: float = Field(ge=0)
    """Its reward when it was first scored, as a share of the reference answer's."""


def read_texts(path: Path = TEXTS_FILE) -> tuple[WrittenAnswer, ...]:
    """Return the answers of a file in its order.

    Raises:
        InputError: The file cannot be read, or a line is no such answer.
    """
    return read_json_lines(path, WrittenAnswer, "answers")
