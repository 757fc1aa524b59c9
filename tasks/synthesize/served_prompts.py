"""Prompts of a served model's logs: what was asked, with the right answers that feedback gave later."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

import orjson
import polars as pl

from schemas.errors import InputError
from schemas.tables.production_logs import files_of_folder, read_feedback, read_production_logs, with_feedback
from schemas.tables.prompts import PromptRow, content_id, write_prompt_table
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import TASKS
from tasks.personal_data.scrub import scrub
from tasks.personal_data.scrub_table import scrubbed_rows

SOURCE: Final = "logs"  # Origin of these prompts, as `PromptRow.source`.


def write_served_prompts(folder: Path, most: Mapping[TaskName, int], table: Path) -> None:
    """Write a table of the prompts whose right answer is known, by task and identity; without any while none is.

    A prompt that was asked several times counts once, with the reference of its newest answer. The log holds no system
    prompt, but an identity that depends on it: what was asked with another than the task's own is left out. A log
    without identities is taken as asked with it.
    """
    newest: dict[TaskName, dict[str, PromptRow]] = {task: {} for task in TASK_NAMES}
    for row in scrubbed_rows(_known(folder), Counter()):
        of_task = newest[row.task]
        if len(of_task) < most.get(row.task, 0):
            of_task.setdefault(row.prompt, row)
    by_id = (sorted(of_task.values(), key=lambda row: row.prompt_id) for of_task in newest.values())
    write_prompt_table(table, chain.from_iterable(by_id))


def _known(folder: Path) -> Iterator[PromptRow]:
    """Yield the prompts of all answers with a reference, the newest first, and of equal times by content."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"synthesize.logs {folder} is no folder; name the folder of the logs")
    found = files_of_folder(folder)
    tables = [read_production_logs(file.path, file.size) for file in found.files if file.size]
    if not tables:
        return
    answers, _ = with_feedback(pl.concat(tables), read_feedback(found.feedback))
    known = answers.filter(pl.col("reference").is_not_null())
    ordered = known.sort("time", "task", "prompt", "reference", descending=[True, False, False, False])
    yield from filter(None, map(_row, ordered.iter_rows(named=True)))


def _row(answer: Mapping[str, Any]) -> PromptRow | None:
    """Return an answer's prompt; None where its system prompt is unknown."""
    task, prompt, reference = answer["task"], answer["prompt"], orjson.loads(answer["reference"])
    system = TASKS[task].system
    if answer["prompt_id"] not in {None, content_id(task, system, prompt, {})}:
        return None
    # The split holds a review's prompts out together: also a prompt whose reference is corrected later.
    # Not of the text as it was logged: a digest of a telephone number could be searched for.
    clean = content_id(task, scrub(system)[0], scrub(prompt)[0], {})
    review = None if TASKS[task].asked_by_reference else clean
    identity = content_id(task, system, prompt, reference)
    return PromptRow(identity, task, system, prompt, reference, SOURCE, None, None, review)
