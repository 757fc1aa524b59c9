"""Class names: one name stands for one thing in the whole product."""

import ast
from collections import defaultdict
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).parents[1]
PACKAGES: Final = ("flows", "schemas", "tasks")


def classes() -> dict[str, set[str]]:
    """Return the modules of each class by its name; a class inside another is left out."""
    found: dict[str, set[str]] = defaultdict(set)
    for package in PACKAGES:
        for path in (REPOSITORY / package).rglob("*.py"):
            for statement in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(statement, ast.ClassDef):
                    found[statement.name].add(path.relative_to(REPOSITORY).as_posix())
    return found


def test_no_class_name_stands_in_two_modules() -> None:
    named = classes()
    assert len(named) > 300
    assert {name: sorted(where) for name, where in named.items() if len(where) > 1} == {}
