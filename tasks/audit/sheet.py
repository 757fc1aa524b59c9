"""The audit sheet: what people (or a rubric) scored, read back from a spreadsheet and checked row by row."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName

RaterKind = Literal["human", "rubric", "model"]

COLUMNS = (
    "audit_id",
    "task",
    "prompt_id",
    "stratum",
    "prompt",
    "completion",
    "human_score",
    "rater",
    "rater_kind",
    "notes",
)
_MOST_NAMED = 5


@dataclass(frozen=True)
class SheetRow:
    """One scored completion (DESIGN: Documents). The reward is never in the sheet: who scores must not see it."""

    audit_id: str
    task: TaskName
    prompt_id: str
    stratum: str
    prompt: str
    completion: str
    human_score: int
    """1 (useless) to 5 (faultless), whoever scored."""
    rater: str
    """A pseudonym."""
    rater_kind: RaterKind
    notes: str


def read_sheet(path: Path) -> tuple[SheetRow, ...]:
    """Read a scored sheet; rows are named as a spreadsheet numbers them, the header being row 1.

    Raises:
        InputError: The file cannot be read, columns are missing, or rows are faulty, unscored or there twice.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            cells = list(reader)
            columns = tuple(reader.fieldnames or ())
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"sheet {path} cannot be read: {error}") from None
    missing = [column for column in COLUMNS if column not in columns]
    if missing:
        raise InputError(f"sheet {path} lacks the columns {', '.join(missing)}; save it as CSV separated by commas")
    if not cells:
        raise InputError(f"sheet {path} has no rows; score at least one completion")
    _refuse_faults(path, cells)
    return tuple(
        SheetRow(**{**{column: row[column] for column in COLUMNS}, "human_score": int(row["human_score"])}) for row in cells
    )


def match_rollouts(rows: Sequence[SheetRow], rollouts: Sequence[Rollout]) -> tuple[Rollout, ...]:
    """Return the rollout that each row of the sheet was made of, in the rows' order.

    Raises:
        InputError: A row's prompt or completion is not that of any rollout: it was edited, or belongs to others.
    """
    known = {(rollout.task, rollout.prompt_id, rollout.prompt, rollout.completion): rollout for rollout in rollouts}
    keys = [(row.task, row.prompt_id, row.prompt, row.completion) for row in rows]
    strangers = [f"row {number} ({row.audit_id})" for number, row in enumerate(rows, 2) if keys[number - 2] not in known]
    if strangers:
        raise InputError(
            f"prompt or completion of {_list(strangers)} is not among the rollouts; restore the text as it was answered"
        )
    return tuple(known[key] for key in keys)


def _refuse_faults(path: Path, cells: Sequence[Mapping[str, str]]) -> None:
    faults = [f"row {number}: {fault}" for number, row in enumerate(cells, 2) if (fault := _fault(row))]
    if faults:
        raise InputError(f"sheet {path}: {_list(faults)}")
    unscored = [str(number) for number, row in enumerate(cells, 2) if not row["human_score"].strip()]
    if unscored:
        raise InputError(f"sheet {path}: {len(unscored)} of {len(cells)} rows have no score: {_list(unscored)}")
    first_rows: dict[str, int] = {}
    repeated = [
        f"row {number} repeats row {first_rows[row['audit_id']]}"
        for number, row in enumerate(cells, 2)
        if first_rows.setdefault(row["audit_id"], number) != number
    ]
    if repeated:
        raise InputError(f"sheet {path}: an audit_id must be there once: {_list(repeated)}")


def _fault(row: Mapping[str, str]) -> str:
    if None in row or None in row.values():
        return f"it does not have {len(COLUMNS)} cells"
    if row["task"] not in TASK_NAMES:
        return f"task is {row['task']!r}, not one of {', '.join(TASK_NAMES)}"
    if row["human_score"].strip() not in {"", "1", "2", "3", "4", "5"}:
        return f"human_score is {row['human_score']!r}, not a whole number from 1 to 5"
    if row["rater_kind"] not in get_args(RaterKind):
        return f"rater_kind is {row['rater_kind']!r}, not one of {', '.join(get_args(RaterKind))}"
    if not row["audit_id"].strip() or not row["rater"].strip():
        return "audit_id or rater is empty"
    return ""


def _list(items: Sequence[str]) -> str:
    more = f"; and {len(items) - _MOST_NAMED} more" if len(items) > _MOST_NAMED else ""
    return "; ".join(items[:_MOST_NAMED]) + more
