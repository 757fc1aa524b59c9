"""Scoring rubrics in Portuguese: the meaning of each score, for the raters."""

from typing import Final

from schemas.config.config import AUDIT_FOLDER
from schemas.tasks import TaskName

RUBRICS_FOLDER: Final = AUDIT_FOLDER / "rubrics"


def general_rubric() -> str:
    """Return the general rubric of all tasks, as Markdown."""
    return _read("general")


def task_rubric(task: TaskName) -> str:
    """Return the anchors of one task's scores, as Markdown."""
    return _read(task)


def _read(name: str) -> str:
    return (RUBRICS_FOLDER / f"{name}.md").read_text(encoding="utf-8")
