"""Prompts of a served model's logs: what was asked, with the right answers that feedback gave later."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson
import polars as pl

from schemas.tables.feedback import read_feedback, with_feedback
from schemas.tables.log_file import KINDS, log_files
from schemas.tables.prompts import PromptRow, content_id, open_prompt_table
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import TASKS
from tasks.commerce.sql_qa.shown_schema import shown_system

SOURCE: Final = "logs"
"""Origin of these prompts, as `PromptRow.source`."""


def write_served_prompts(folder: Path, most: Mapping[TaskName, int], table: Path) -> None:
    """Write a table of the prompts whose right answer is known, by task and identity; without any while none is.

    A prompt that was asked several times counts once, with its newest reference. The log holds no system prompt, but an
    identity that depends on it: what was asked with another than the task's own is left out.

    Args:
        folder: Folder of the logs; it need not be there yet.
        most: Most prompts by task: the newest.
        table: The prompt table to write.

    Raises:
        InputError: A file cannot be read, or is no log or no feedback.
    """
    known = _known(folder)
    with open_prompt_table(table) as writer:
        for task in TASK_NAMES:
            asked = known.filter(pl.col("task") == task).to_dicts() if known is not None else []
            rows = [row for each in asked if (row := _row(task, each)) is not None]
            for row in sorted(rows[: most.get(task, 0)], key=lambda row: row.prompt_id):
                writer.add(row)


def _known(folder: Path) -> pl.DataFrame | None:
    """Return the answers with a reference, each prompt once, the newest first; None while nothing is logged."""
    if not folder.is_dir() or not any(file.suffix in KINDS and file.stat().st_size for file in folder.iterdir()):
        return None
    # Imports pandera.
    from schemas.tables.log_table import read_production_logs

    found = log_files(folder)
    answers = pl.concat(read_production_logs(file.path, file.size) for file in found.files if file.size)
    answers, _ = with_feedback(answers, read_feedback(found.feedback))
    known = answers.filter(pl.col("reference").is_not_null()).sort("time", descending=True, maintain_order=True)
    return known.unique(["task", "prompt"], keep="first", maintain_order=True)


def _row(task: TaskName, answer: Mapping[str, Any]) -> PromptRow | None:
    """Return an answer's prompt; None where its system prompt is unknown."""
    prompt, reference = answer["prompt"], orjson.loads(answer["reference"])
    systems = [TASKS[task].system, *([shown_system(prompt)] if task == "sql_qa" else [])]
    for system in systems:
        if answer["prompt_id"] in {None, content_id(task, system, prompt, {})}:
            identity = content_id(task, system, prompt, reference)
            return PromptRow(identity, task, system, prompt, reference, SOURCE, None, None, None)
    return None
