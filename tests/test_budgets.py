"""Sizes of the rooms, held by `budgets.toml`: a change that adds takes away as much, and a number only falls."""

import subprocess
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

REPOSITORY: Final = Path(__file__).parents[1]
FILE: Final = "budgets.toml"
SLACK: Final = 1.05
"""A number is lowered once its room is this much smaller."""


def read(text: str) -> dict[str, int]:
    """Return each number of a budget file by its table and name."""
    tables = tomllib.loads(text).items()
    return {f"{table} {name}": limit for table, limits in tables for name, limit in limits.items()}


BUDGETS: Final = read((REPOSITORY / FILE).read_text(encoding="utf-8"))
ROOMS: Final = {Path(name.removeprefix("lines ")) for name in BUDGETS if name.startswith("lines ")}


def room_of(path: Path) -> str:
    """Return the closest room around a file, which may be a room of its own."""
    return next((str(room) for room in (path.with_suffix(""), *path.parents) if room in ROOMS), f"no room for {path}")


def sizes() -> Counter[str]:
    """Count lines of Python by room, direct dependencies, and characters of documentation."""
    found = Counter[str]()
    for folder in {room.parts[0] for room in ROOMS}:
        for path in (REPOSITORY / folder).rglob("*.py"):
            found[f"lines {room_of(path.relative_to(REPOSITORY))}"] += len(path.read_bytes().splitlines())
    for page in (*(REPOSITORY / "docs").rglob("*.md"), *REPOSITORY.glob("README*.md")):
        room = "docs/pt-BR" if page.parent.name == "pt-BR" else "docs"
        found[f"characters {room}"] += len(page.read_text(encoding="utf-8"))
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found["dependencies direct"] = len(project["dependencies"])
    return found


def test_each_file_has_a_room_and_each_room_is_within_its_budget() -> None:
    found = sizes()
    assert found.keys() <= BUDGETS.keys()
    assert {name: found[name] for name, limit in BUDGETS.items() if found[name] > limit} == {}
    # A room that is not there yet keeps its number.
    assert {name: found[name] for name, limit in BUDGETS.items() if 0 < found[name] * SLACK + 50 < limit} == {}


def test_no_number_rises() -> None:
    try:
        versions = _git("log", "-2", "--format=%H", "--", FILE).split()
        texts = [_git("show", f"{version}:{FILE}") for version in versions]
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the history is not here")
    history = [*map(read, reversed(texts)), BUDGETS]
    risen = {name for old, new in pairwise(history) for name in old.keys() & new.keys() if new[name] > old[name]}
    assert risen == set()


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
