"""Sizes of the rooms, held by `budgets.toml`: a change that adds takes away as much, and a number only falls."""

import subprocess
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

REPOSITORY: Final = Path(__file__).parents[1]
FILE: Final = "budgets.toml"
SLACK: Final = 1.05
"""A number is lowered once its room is this much smaller."""

Budgets = dict[str, dict[str, int]]


def read(text: str) -> Budgets:
    """Return the numbers of each table of a budget file."""
    return tomllib.loads(text)


BUDGETS: Final = read((REPOSITORY / FILE).read_text(encoding="utf-8"))


def sizes() -> Budgets:
    """Count lines of Python by room, direct dependencies, and characters of documentation."""
    rooms = dict.fromkeys(BUDGETS["lines"], 0)
    for path in python_files():
        rooms[owners(path)[0]] += len((REPOSITORY / path).read_bytes().splitlines())
    pages = [*(REPOSITORY / "docs").rglob("*.md"), *REPOSITORY.glob("README*.md")]
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        "lines": rooms,
        "characters": {"docs": sum(len(page.read_text(encoding="utf-8")) for page in pages)},
        "dependencies": {"direct": len(project["dependencies"])},
    }


def python_files() -> list[Path]:
    """Return every Python file of the product, the tests and the benchmarks, relative to the repository."""
    folders = sorted({name.split("/")[0] for name in BUDGETS["lines"]})
    return [path.relative_to(REPOSITORY) for folder in folders for path in (REPOSITORY / folder).rglob("*.py")]


def owners(path: Path) -> list[str]:
    """Return the rooms around a file, the closest first."""
    return [str(parent) for parent in path.parents if str(parent) in BUDGETS["lines"]]


def too_many(found: Budgets, budgets: Budgets) -> list[str]:
    """Name what exceeds its budget."""
    return [
        f"{name}: {found[table][name]} {table}, and its budget is {limit}"
        for table, limits in budgets.items()
        for name, limit in limits.items()
        if found[table][name] > limit
    ]


def too_loose(found: Budgets, budgets: Budgets) -> list[str]:
    """Name the budgets to lower; a room that is not there yet keeps its own."""
    return [
        f"{name}: lower {limit} to {found[table][name]} {table}"
        for table, limits in budgets.items()
        for name, limit in limits.items()
        if 0 < found[table][name] * SLACK + 50 < limit
    ]


def risen(before: Budgets, after: Budgets) -> list[str]:
    """Name the budgets that are higher than they were."""
    return [
        f"{name}: from {before[table][name]} to {limit} {table}"
        for table, limits in after.items()
        for name, limit in limits.items()
        if limit > before.get(table, {}).get(name, limit)
    ]


def test_each_room_is_within_its_budget() -> None:
    found = sizes()
    assert not too_many(found, BUDGETS)
    assert not too_loose(found, BUDGETS)


def test_each_python_file_has_a_room() -> None:
    assert not [str(path) for path in python_files() if not owners(path)]


def test_no_number_rises() -> None:
    try:
        versions = _git("log", "-2", "--format=%H", "--", FILE).split()
        texts = [_git("show", f"{version}:{FILE}") for version in versions]
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the history is not here")
    history = [*map(read, reversed(texts)), BUDGETS]
    assert not [line for before, after in pairwise(history) for line in risen(before, after)]


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
