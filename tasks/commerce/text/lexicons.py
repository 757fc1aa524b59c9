"""Data that tasks are made of: word lists (`data/lexicons`), wordings of prompts (`data/wordings`) and TOML files."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from schemas.tasks import TaskName

DATA: Final = Path(__file__).resolve().parents[3] / "data"


class PhraseData(BaseModel):
    """Part of a file of phrases; a key that nothing reads is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def read_data(file: str) -> dict[str, Any]:
    """Return what a TOML file of `data` holds."""
    return tomllib.loads((DATA / file).read_text(encoding="utf-8"))


@cache
def read_lexicon(name: str) -> tuple[str, ...]:
    """Return the entries of one word list, in the order of its file: one a line, `#` for comments."""
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
    texts = read_data(f"wordings/{task}.toml")
    return Wording(texts["system"], tuple(texts["instructions"]))
