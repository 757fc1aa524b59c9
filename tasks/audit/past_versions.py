"""Versions of rewards that score alike: what people said of the one holds for the other, and nobody scores twice.

`data/audit/versions.toml` has a table `whole` for versions of all rewards together, as they were before each task had
one, and a table `same` that leads from a task's version to the one that it has since its code was only moved.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from schemas.tasks import TASK_NAMES, TaskName

DATA_FILES: Final = ("data/audit/versions.toml",)
FILE: Final = Path(__file__).resolve().parents[2] / "data" / "audit" / "versions.toml"


def versions_of(whole: str) -> dict[TaskName, str]:
    """Return the version of each task's reward that one version of all stands for; nothing where it is not known."""
    versions: Mapping[TaskName, str] = next(
        (known for name, known in _read().get("whole", {}).items() if whole and name.startswith(whole)), {}
    )
    return {task: as_it_is_now(versions[task]) for task in TASK_NAMES if task in versions}


def as_it_is_now(version: str) -> str:
    """Return the newest version of a task's reward that scores as this one does."""
    same: Mapping[str, str] = _read().get("same", {})
    while version in same:
        version = same[version]
    return version


@cache
def _read() -> Mapping[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))
