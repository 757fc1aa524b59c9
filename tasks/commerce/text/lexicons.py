"""Word lists (`data/lexicons`, one entry per line, `#` for comments) and the wordings of prompts (`data/wordings`)."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from schemas.tasks import TaskName
DATA: Final = Path(__file__).resolve().parents[3] / "data"


@cache
def read_lexicon(name: str) -> tuple[str, ...]:
    """Return the entries of one word list, in the order of its file."""
    lines = (DATA / "lexicons" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


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
    texts = tomllib.loads((DATA / "wordings" / f"{task}.toml").read_text(encoding="utf-8"))
    return Wording(texts["system"], tuple(texts["instructions"]))
