"""The written rubrics: what each score means, in Portuguese, for whoever scores."""

from typing import Final

from schemas.config import AUDIT_FOLDER
from schemas.tasks import TaskName

RUBRICS_FOLDER: Final = AUDIT_FOLDER / "rubrics"


def general_rubric() -> str:
    """Return what holds for every task, as Markdown."""
    return _read("general")


def task_rubric(task: TaskName) -> str:
    """Return the anchors of one task's scores, as Markdown."""
    return _read(task)


def _read(name: str) -> str:
    return (RUBRICS_FOLDER / f"{name}.md").read_text(encoding="utf-8")
