"""Instructions in Brazilian Portuguese, each with the checks that an answer must pass."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from schemas.json_lines import read_json_lines
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.evaluate.general.checks import CHECKS, repeats

DATA_FILES: Final = ("data/general/instructions.jsonl",)
SYSTEM: Final = "Responda em português do Brasil e faça exatamente o que a mensagem pede."
"""What the model is told before each instruction."""
_FILE: Final = Path(__file__).resolve().parents[3] / DATA_FILES[0]


class InstructionCheck(BaseModel):
    """One thing that an instruction asks for."""

    model_config = ConfigDict(extra="allow", frozen=True)

    check: str

    def passed(self, answer: str) -> bool:
        """Return whether an answer does it."""
        return CHECKS[self.check](answer, **(self.model_extra or {}))


class GeneralInstruction(BaseModel):
    """One instruction, with an answer that follows it and one that does not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    kind: str
    """What it asks for, such as `dates`."""
    prompt: str
    checks: tuple[InstructionCheck, ...] = Field(min_length=1)
    right: str
    """An answer that follows it."""
    wrong: str
    """One that does not, as a model that lost it would give."""

    def followed(self, answer: str) -> bool:
        """Return whether an answer does all that was asked, and does not repeat the instruction."""
        if not answer.strip() or repeats(answer, self.prompt):
            return False
        return all(check.passed(answer) for check in self.checks)


@cache
def instructions() -> tuple[GeneralInstruction, ...]:
    """Return all instructions, in the order of the file."""
    return read_json_lines(_FILE, GeneralInstruction, "instructions")


def as_rows(tasks: Sequence[TaskName]) -> list[PromptRow]:
    """Return the instructions as prompts that a model answers like the test split's."""
    return [
        PromptRow(
            prompt_id=each.id,
            task=tasks[number % len(tasks)],
            system=SYSTEM,
            prompt=each.prompt,
            reference={},
            source="general",
            customer_id=None,
            order_id=None,
            review_id=None,
        )
        for number, each in enumerate(instructions())
    ]
