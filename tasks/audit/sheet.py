"""The audit sheet: completions for people to score, and their scores read back and checked row by row.

A sheet goes through spreadsheets, which change texts in small ways and are attacked by others: a cell that begins like
a formula is written behind an apostrophe, and texts are compared as they survive a spreadsheet.
"""

import csv
import hashlib
import io
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from pydantic import ValidationError

from schemas.documents import RaterKind, Rollout, SheetItem, SheetRow
from schemas.errors import InputError
from schemas.faults import first_fault, first_few
from schemas.store_faults import first_fault as first_csv_fault
from schemas.table_check import as_table, table_faults
from schemas.tasks import TASK_NAMES, TaskName

COLUMNS: Final = tuple(SheetRow.model_fields)
"""The sheet's columns in their order (DESIGN: Documents)."""
MOST_CHARACTERS: Final = 32_000
"""A spreadsheet's cell holds 32,767 units of UTF-16; a longer text comes back cut off."""

# Where the CSV reader puts the cells beyond the last column.
_SURPLUS: Final = "surplus"
# What is a number in a spreadsheet too.
_NUMBERS: Final = ("human_score",)
# What a spreadsheet takes for a formula, a number, a date or a truth value, and changes.
_CHANGED: Final = re.compile(
    r"\A'*(?=[=+\-@\t]|(?=[^\n]*\d)[\d.,:/%eER$ \-]+\Z|\s*(?:true|false|verdadeiro|falso)\s*\Z)", re.IGNORECASE
)
_NO_CELL_HOLDS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Row = Mapping[str, str]
"""The cells of a sheet's row by their column; what nobody filled in is empty."""


@dataclass(frozen=True)
class ScoredItem:
    """A completion of the sheet with the scores that it was given."""

    audit_id: str
    """Its identity."""
    stratum: str
    """Why it was chosen for the sheet."""
    rollout: Rollout
    """The rollout that it is."""
    scores: Mapping[str, int]
    """The score of each rater, 1 to 5."""
    notes: tuple[str, ...]
    """What the raters said of it."""

    @property
    def score(self) -> float:
        """The mean score of its raters."""
        return fmean(self.scores.values())


@dataclass(frozen=True)
class ScoredSheet:
    """Everything that was scored, each completion once."""

    items: tuple[ScoredItem, ...]
    """The completions, in the order of the sheet."""
    rater_kinds: Mapping[str, RaterKind]
    """What each rater is."""
    unscored: tuple[TaskName, ...]
    """Tasks that the rollouts have and the sheet has not."""
    siblings: tuple[Rollout, ...]
    """All rollouts of the sheet's prompts: what a policy answers alike again and again is on the sheet but once."""

    @property
    def tasks(self) -> tuple[TaskName, ...]:
        """The tasks of the sheet, in the house's order."""
        return tuple(task for task in TASK_NAMES if any(item.rollout.task == task for item in self.items))

    def of_task(self, task: TaskName) -> tuple[ScoredItem, ...]:
        """Return the completions of one task."""
        return tuple(item for item in self.items if item.rollout.task == task)


def as_kept(text: str) -> str:
    """Return a text as it comes back from a spreadsheet: what no cell holds is marked, lines end in one way."""
    plain = _NO_CELL_HOLDS.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _CHANGED.sub("", plain, count=1)


def fits(text: str) -> bool:
    """Tell whether a spreadsheet's cell holds a text."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2 <= MOST_CHARACTERS


def audit_id(rollout: Rollout | SheetItem) -> str:
    """Return the identity of a completion, which tells an edited one: a letter and eleven digits of its sha256.

    Without the letter a spreadsheet would take one identity in two hundred for a number.
    """
    parts = (rollout.task, rollout.prompt_id, as_kept(rollout.prompt), as_kept(rollout.completion))
    return f"a{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:11]}"


def as_row(rollout: Rollout, stratum: str) -> dict[str, str]:
    """Return the row in which a completion is scored; the rater's columns are empty."""
    item = SheetItem(
        audit_id=audit_id(rollout),
        task=rollout.task,
        prompt_id=rollout.prompt_id,
        stratum=stratum,
        prompt=as_kept(rollout.prompt),
        completion=as_kept(rollout.completion),
    )
    return dict.fromkeys(COLUMNS, "") | item.model_dump()


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write a sheet in place of what is there, by one rename: CSV in UTF-8 with a mark that spreadsheets know it by."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows({name: row[name] if name in _NUMBERS else _as_cell(row[name]) for name in COLUMNS} for row in rows)
    # A sheet that is shared by a link stays shared, and by the same people.
    path = path.resolve()
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        with draft.open("w", encoding="utf-8-sig", newline="") as file:
            file.write(text.getvalue())
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, draft)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def read_rows(path: Path) -> tuple[Row, ...]:
    """Read a sheet's cells, scored or not; a spreadsheet numbers the first of them 2.

    Raises:
        InputError: The file cannot be read, its columns are not the sheet's, or rows are torn or have no completion.
    """
    cells: list[dict[str, Any]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restkey=_SURPLUS, strict=True)
            _check_columns(path, tuple(reader.fieldnames or ()))
            cells.extend(map(_whole, reader))
    except UnicodeDecodeError:
        raise InputError(
            f"sheet {path} cannot be read: {first_csv_fault(path) or 'it is not UTF-8'}; save it as UTF-8 CSV"
        ) from None
    except csv.Error as error:
        raise InputError(f"sheet {path}: row {len(cells) + 2} is no CSV ({error}); save it as CSV again") from None
    except OSError as error:
        raise InputError(f"sheet {path} cannot be read: {error}") from None
    while cells and not any(cells[-1].values()):
        cells.pop()
    if not cells:
        raise InputError(f"sheet {path} has no rows; score at least one completion")
    faults = [f"row {number}: {fault}" for number, row in enumerate(cells, 2) if (fault := _fault(row))]
    if faults:
        raise InputError(f"sheet {path}: {first_few(faults)}; correct it")
    return tuple({name: row[name] if name in _NUMBERS else as_kept(row[name]) for name in COLUMNS} for row in cells)


def is_scored(row: Row) -> bool:
    """Tell whether a row has a score."""
    return bool(row["human_score"].strip())


def read_scored_sheet(path: Path, rollouts: Sequence[Rollout], raters: Sequence[str] = ()) -> ScoredSheet:
    """Read a sheet of which every row is scored, and find the rollout of each.

    Args:
        path: The sheet.
        rollouts: What its rows were made of.
        raters: Who may score; anybody where none is named.

    Raises:
        InputError: The sheet cannot be read, rows are unscored, faulty or there twice, their text is not that of any
            rollout, or somebody scored who may not.
    """
    cells = read_rows(path)
    unscored = [f"row {number}" for number, row in enumerate(cells, 2) if not is_scored(row)]
    if unscored:
        raise InputError(
            f"sheet {path}: {len(unscored)} of {len(cells)} rows have no score: {first_few(unscored)}; score them, or "
            "delete rows that nobody can score"
        )
    rows = _validated(path, cells)
    _check_raters(path, rows, raters)
    matched = match_rollouts(path, rows, rollouts)
    prompts = {(row.task, row.prompt_id) for row in rows}
    return ScoredSheet(
        _by_completion(path, rows, matched),
        {row.rater: row.rater_kind for row in rows},
        tuple(task for task in TASK_NAMES if task in {rollout.task for rollout in rollouts} - {r.task for r in rows}),
        tuple(rollout for rollout in rollouts if (rollout.task, rollout.prompt_id) in prompts),
    )


def match_rollouts(path: Path, rows: Sequence[SheetItem], rollouts: Sequence[Rollout]) -> tuple[Rollout, ...]:
    """Return the rollout that each row of the sheet was made of, in the rows' order.

    Raises:
        InputError: A row was edited, its id is another row's, or it belongs to other rollouts.
    """
    known = {audit_id(rollout): rollout for rollout in reversed(rollouts)}
    found = [audit_id(row) for row in rows]
    of_id: dict[str, str] = {}
    faults: list[str] = []
    strangers: list[str] = []
    for number, (row, identity) in enumerate(zip(rows, found, strict=True), 2):
        if identity not in known and row.audit_id in known:
            faults.append(f"row {number}: its prompt or completion was edited")
        elif identity not in known:
            strangers.append(f"row {number}")
        elif of_id.setdefault(row.audit_id, identity) != identity:
            faults.append(f"row {number}: its audit_id is in another row with another text")
        elif row.audit_id in known and row.audit_id != identity:
            faults.append(f"row {number}: its audit_id is that of another completion")
    if faults:
        raise InputError(f"sheet {path}: {first_few(faults)}; restore the text as it was answered")
    if strangers:
        other = "another sheet" if len(strangers) < len(rows) else "other rollouts"
        raise InputError(
            f"sheet {path}: prompt or completion of {first_few(strangers)} is not among the rollouts: "
            f"{len(strangers)} of {len(rows)} rows were edited or are of {other}; restore the text, and audit each "
            "sheet with its own rollouts"
        )
    return tuple(known[identity] for identity in found)


def _as_cell(text: str) -> str:
    return f"'{text}" if _CHANGED.match(text) else text


def _fault(row: Mapping[str, Any]) -> str | None:
    if _SURPLUS in row:
        return "it has more cells than the header"
    if None in row.values():
        return "it has fewer cells than the header"
    try:
        SheetItem.model_validate(row)
    except ValidationError as error:
        return first_fault(error)
    return None


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as it was before a spreadsheet left out the empty cells at its end, or added some."""
    row = {name: cell for name, cell in row.items() if name}
    if not any(row.get(_SURPLUS) or ()):
        row.pop(_SURPLUS, None)
    if row.get("notes") is None:
        row["notes"] = ""
    return row


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    if len(columns) == 1 and any(separator in columns[0] for separator in ";\t"):
        raise InputError(
            f"sheet {path}, row 1: columns are separated by {'semicolons' if ';' in columns[0] else 'tabs'}; save it "
            "as CSV separated by commas"
        )
    missing = [column for column in COLUMNS if column not in columns]
    while columns and not columns[-1]:
        columns = columns[:-1]
    if missing:
        raise InputError(
            f"sheet {path}, row 1, lacks the columns {', '.join(missing)}; save it with all columns, as CSV separated "
            "by commas"
        )
    if columns != COLUMNS:
        raise InputError(
            f"sheet {path}, row 1: the columns are not {', '.join(COLUMNS)} in this order; put them back, for a column "
            "that was moved alone may stand beside other completions"
        )


def _validated(path: Path, cells: Sequence[Row]) -> tuple[SheetRow, ...]:
    from schemas.sheet_table import AuditSheet

    rows: dict[int, SheetRow] = {}
    faults = []
    for number, row in enumerate(cells, 2):
        try:
            rows[number] = SheetRow.model_validate(row)
        except ValidationError as error:
            faults.append(f"row {number}: {first_fault(error)}")
    faults += table_faults(as_table(rows.values(), AuditSheet), AuditSheet, tuple(rows))
    if faults:
        raise InputError(f"sheet {path}: {first_few(faults)}; correct it")
    return tuple(rows.values())


def _check_raters(path: Path, rows: Sequence[SheetRow], raters: Sequence[str]) -> None:
    known = {rater.strip().lower() for rater in raters}
    unknown = [f"row {number}" for number, row in enumerate(rows, 2) if known and row.rater not in known]
    if unknown:
        raise InputError(
            f"sheet {path}: the rater of {first_few(unknown)} is not among audit.raters, which names "
            f"{', '.join(raters)}; correct the pseudonym, or add who scored"
        )


def _by_completion(path: Path, rows: Sequence[SheetRow], rollouts: Sequence[Rollout]) -> tuple[ScoredItem, ...]:
    """Put the scores of each completion together: it counts once, by its text, whatever ids its rows have."""
    grouped: dict[str, list[tuple[int, SheetRow, Rollout]]] = {}
    for number, (row, rollout) in enumerate(zip(rows, rollouts, strict=True), 2):
        grouped.setdefault(audit_id(rollout), []).append((number, row, rollout))
    faults = []
    for scored in grouped.values():
        first: dict[str, SheetRow] = {}
        for number, row, _ in scored:
            if first.setdefault(row.rater, row).human_score != row.human_score:
                faults.append(f"row {number}: its rater gave the same completion another score in an earlier row")
    if faults:
        raise InputError(f"sheet {path}: {first_few(faults)}; leave one of them")
    return tuple(
        ScoredItem(
            identity,
            scored[0][1].stratum,
            scored[0][2],
            {row.rater: row.human_score for _, row, _ in scored},
            tuple(row.notes for _, row, _ in scored if row.notes),
        )
        for identity, scored in grouped.items()
    )
