"""Data that tasks are made of: word lists (`data/lexicons`), wordings of prompts (`data/wordings`) and TOML files."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from schemas.tasks import TaskName

DATA: Final = Path(__file__).resolve().parents[3] / "data"


class Entry(dict[str, Any]):
    """Table of a TOML file, whose keys are attributes too; None where the file leaves a key out."""

    def __init__(self, keys: Mapping[str, Any]) -> None:
        """Take a table's keys."""
        super().__init__(keys)
        # Checkers ask for attributes in every rollout: a key that is there needs no call.
        self.__dict__ = self

    def __getattr__(self, key: str) -> Any:
        if key.startswith("__"):
            raise AttributeError(key)


@cache
def read_data(file: str) -> dict[str, Any]:
    """Return what a TOML file of `data` holds; the same object each time."""
    return tomllib.loads((DATA / file).read_text(encoding="utf-8"))


def read_entries(file: str) -> Any:
    """Return what a TOML file of `data` holds, each table as an `Entry`."""
    return _entries(read_data(file))


def _entries(value: Any) -> Any:
    if isinstance(value, dict):
        return Entry({key: _entries(each) for key, each in value.items()})
    return [_entries(each) for each in value] if isinstance(value, list) else value


@cache
def read_lexicon(name: str) -> tuple[str, ...]:
    """Return the entries of one word list, in the order of its file: one a line, `#` for comments."""
    lines = (DATA / "lexicons" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


class Wording(NamedTuple):
    """System prompt of a task, and the instructions of which each prompt has one: prompt augmentation."""

    system: str
    instructions: tuple[str, ...]


@cache
def read_wording(task: "TaskName") -> Wording:
    """Return the wording of a task."""
    texts = read_data(f"wordings/{task}.toml")
    return Wording(texts["system"], tuple(texts["instructions"]))
