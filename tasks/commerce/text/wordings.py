"""Prompt wordings: each task's system prompt and instruction variants, in `data/wordings`."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from schemas.tasks import TaskName

FOLDER: Final = Path(__file__).resolve().parents[3] / "data" / "wordings"


@dataclass(frozen=True)
class Wording:
    """Texts of one task's prompts, in Portuguese."""

    system: str
    """The system prompt, with examples for some tasks."""
    instructions: tuple[str, ...]
    """Instruction variants, of which each prompt has one: prompt augmentation."""


@cache
def read_wording(task: "TaskName") -> Wording:
    """Return the wording of a task."""
    texts = tomllib.loads((FOLDER / f"{task}.toml").read_text(encoding="utf-8"))
    return Wording(texts["system"], tuple(texts["instructions"]))
