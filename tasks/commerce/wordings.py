"""What the model is told: each task's system prompt and the wordings of its instruction, in `data/wordings`."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from schemas.tasks import TaskName

FOLDER: Final = Path(__file__).resolve().parents[2] / "data" / "wordings"


@dataclass(frozen=True)
class Wording:
    """The texts of one task's prompts, in Portuguese."""

    system: str
    """The system prompt, with examples where the task has some."""
    instructions: tuple[str, ...]
    """Ways to ask, of which each prompt has one: prompt augmentation."""


@cache
def read_wording(task: TaskName) -> Wording:
    """Return the wording of a task."""
    texts = tomllib.loads((FOLDER / f"{task}.toml").read_text(encoding="utf-8"))
    return Wording(texts["system"], tuple(texts["instructions"]))
