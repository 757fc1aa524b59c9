"""Files of questions and of their answers, as `tucano ask` reads and writes them: JSON Lines, or CSV."""

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict

from schemas.disk import replace_whole, write_whole
from schemas.errors import InputError
from schemas.json_lines import read_json_lines
from schemas.tables.delimited import as_cell, read_delimited
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.serve.questions import asked_row, fields_of, question_of

if TYPE_CHECKING:
    from tasks.serve.answerer import TaskAnswer

_VALUE: Final = re.compile(r"[-+]?\d+(?:[.,]\d+)*|(?!\s*-)[\d.,:/%eER$ \-]+|true|false|verdadeiro|falso", re.IGNORECASE)
CSV: Final = ".csv"
"""Ending of the files that are tables, with semicolons, commas or tabs."""


class QuestionRow(BaseModel):
    """Line of a file of questions: a task's inputs, or a prompt with the keys that rollouts have."""

    model_config = ConfigDict(extra="allow", frozen=True)

    prompt_id: str | None = None
    prompt: str | None = None
    system: str | None = None
    reference: dict[str, Any] | None = None


def read_questions(path: Path, task: TaskName) -> Sequence[PromptRow]:
    """Return the prompts of a file of JSON Lines or CSV, in its order; a refusal names the line."""
    rows: list[PromptRow] = []
    is_csv = path.suffix.lower() == CSV
    lines = _read_csv(path, task) if is_csv else read_json_lines(path, QuestionRow, "questions")
    for number, line in enumerate(lines, start=1 + is_csv):
        try:
            rows.append(_row(line, task))
        except InputError as error:
            raise InputError(f"questions {path}: line {number}: {error}") from None
    return rows


def _read_csv(path: Path, task: TaskName) -> list[QuestionRow]:
    """Return the rows of a file whose columns are named as the task's inputs; it may have others beside them."""
    fields, rows = fields_of(task), read_delimited(path).to_dicts()
    if lost := [name for name, is_needed in fields.items() if is_needed and rows and name not in rows[0]]:
        named = ", ".join(f"{name!r}" for name in rows[0])
        raise InputError(f"questions {path}: no column is {lost[0]!r}; the columns are {named}: name the right one so")
    return [QuestionRow(**{name: row[name] for name in fields if row.get(name)}) for row in rows]


def _row(line: QuestionRow, task: TaskName) -> PromptRow:
    others = line.model_extra or {}
    if line.prompt is None:
        return question_of(task, others, reference=line.reference)
    if others.get("task", task) != task:
        raise InputError(f"it is a prompt of {others['task']!r}, and {task} is asked")
    if not line.prompt.strip():
        raise InputError("its prompt is empty")
    return asked_row(task, line.system or TASKS[task].system, line.prompt, line.reference, line.prompt_id)


def write_answers(out: Path, answers: "Sequence[TaskAnswer]", asked: Path | None) -> None:
    """Write answers as JSON Lines; as CSV, which Excel in Brazil opens in columns, beside the columns of a CSV file."""
    if out.suffix.lower() != CSV:
        write_whole(out, "".join(f"{answer.model_dump_json()}\n" for answer in answers))
        return
    given: list[dict[str, Any]] = [{"prompt": answer.prompt} for answer in answers]
    if asked is not None and asked.suffix.lower() == CSV:
        given = read_delimited(asked).to_dicts()
    rows = []
    for row, answer in zip(given, answers, strict=True):
        fields = answer.parsed if isinstance(answer.parsed, dict) else {}
        said = {"text": answer.text, "checked": answer.checked, "reason": answer.reason, **fields}
        written = {name: each if isinstance(each, str | None) else json.dumps(each) for name, each in said.items()}
        cells = {**row, **{f"answer_{name}": each for name, each in written.items()}}
        rows.append({_cell(name): _cell(each or "") for name, each in cells.items()})
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, dict.fromkeys(name for row in rows for name in row), restval="", delimiter=";")
    writer.writeheader()
    writer.writerows(rows)
    replace_whole(out, text.getvalue().encode("utf-8-sig"))


def _cell(text: str) -> str:
    """Return a cell of which a spreadsheet computes no formula, and may read a number, a date or a truth value."""
    return text if _VALUE.fullmatch(text) else as_cell(text)
