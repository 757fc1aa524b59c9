"""Shipped wordings of a task's instruction, put in the place of the one that a prompt has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.commerce.text.lexicons import read_wording

QUESTION: Final = "{question}"
"""Place of an instruction that takes the prompt's question; elsewhere the instruction is the first line."""

ScoresOf = Callable[[Sequence[PromptRow]], Sequence[float]]


def reworded(row: PromptRow, instruction: str) -> PromptRow | None:
    """Return the prompt with another instruction; None where its own is none of the shipped ones."""
    first, _, rest = row.prompt.partition("\n")
    for known in sorted(read_wording(row.task).instructions, key=len, reverse=True):
        before, place, after = known.partition(QUESTION)
        if not place and first == known:
            return replace(row, prompt=f"{instruction}\n{rest}")
        if place and row.prompt.startswith(before) and row.prompt.endswith(after):
            question = row.prompt[len(before) : len(row.prompt) - len(after)]
            return replace(row, prompt=instruction.replace(QUESTION, question))
    return None


def choose_wordings(rows: Sequence[PromptRow], scores_of: ScoresOf) -> Mapping[TaskName, str]:
    """Return each task's instruction that earns most on training prompts, the first of ties."""
    asked = [
        (row.task, instruction, new)
        for row in rows
        for instruction in read_wording(row.task).instructions
        if (new := reworded(row, instruction)) is not None
    ]
    earned: dict[TaskName, dict[str, list[float]]] = {}
    for (task, instruction, _), score in zip(asked, scores_of([new for *_, new in asked]), strict=True):
        earned.setdefault(task, {}).setdefault(instruction, []).append(score)
    return {task: max(found, key=lambda each: fmean(found[each])) for task, found in earned.items()}
