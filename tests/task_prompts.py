"""Prompts of all tasks, as training writes them."""

from collections.abc import Sequence
from pathlib import Path

from schemas.config.config import SynthesizeConfig
from schemas.progress import silent
from schemas.tables.prompts import PromptRow, read_prompts
from schemas.tasks import TASK_NAMES
from tasks.synthesize import stage


def task_prompts(each: int, folder: Path) -> Sequence[PromptRow]:
    """Return so many prompts of each task, the tasks in turns.

    Args:
        each: Prompts of one task.
        folder: An empty one, for the stage's files.
    """
    stage.run(SynthesizeConfig(counts=dict.fromkeys(TASK_NAMES, each)), 1, folder, silent)
    rows = read_prompts(folder / "prompts.parquet")
    by_task = [[row for row in rows if row.task == task] for task in TASK_NAMES]
    return [row for turn in zip(*by_task, strict=True) for row in turn]
