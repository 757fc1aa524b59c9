"""Audit sheet: completions for people to score, and the reader that checks their scores row by row.

Spreadsheets change texts in small ways and are a target of attacks: a cell that begins like a formula is prefixed with
an apostrophe, and texts are compared in the form that survives a spreadsheet. Excel in Brazil saves with semicolons and
in cp1252, and opens what is written with semicolons and a byte order mark.
"""

import csv
import hashlib
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Final

from pydantic import ValidationError

from schemas.disk import replace_whole
from schemas.documents import RaterKind, Rollout, ScoredRollout, SheetItem, SheetRow
from schemas.errors import InputError
from schemas.faults import first_fault, first_few
from schemas.tables.delimited import as_cell, header_of, of_cell, read_text
from schemas.tables.rollout_tables import document_table, row_faults
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.shown import shown_text

COLUMNS: Final = tuple(SheetRow.model_fields)
MOST_CHARACTERS: Final = 32_000
"""A spreadsheet's cell holds 32,767 units of UTF-16; a longer text comes back truncated."""

# Numbers as spreadsheets recognize them.
_NUMBERS: Final = ("human_score",)
_NO_CELL_HOLDS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Row = Mapping[str, str]  # Cells of a sheet's row by column; empty if not filled in.


@dataclass(frozen=True)
class ScoredItem:
    """Completion of the sheet with its scores."""

    audit_id: str
    stratum: str
    rollout: Rollout
    scores: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def score(self) -> float:
        """Return the mean score of its raters."""
        return fmean(self.scores.values())


@dataclass(frozen=True)
class ScoredCompletion:
    """Completion of the sheet with its scores and its reward."""

    item: ScoredItem
    rollout: ScoredRollout


@dataclass(frozen=True)
class ScoredSheet:
    """All scored completions, each once."""

    items: tuple[ScoredItem, ...]
    rater_kinds: Mapping[str, RaterKind]
    unscored: tuple[TaskName, ...]
    siblings: tuple[Rollout, ...]
    """All rollouts of the sheet's prompts: an answer that the policy repeats is on the sheet only once."""

    @property
    def tasks(self) -> tuple[TaskName, ...]:
        """Return the tasks of the sheet, in the project's order."""
        there = {item.rollout.task for item in self.items}
        return tuple(task for task in TASK_NAMES if task in there)

    def of_tasks(self, tasks: Collection[TaskName]) -> "ScoredSheet":
        """Return the completions of some tasks."""
        items = tuple(item for item in self.items if item.rollout.task in tasks)
        return replace(self, items=items, unscored=tuple(task for task in self.unscored if task in tasks))


def as_kept(text: str) -> str:
    """Return a text as a spreadsheet returns it: characters that no cell holds are marked, line ends unified."""
    plain = _NO_CELL_HOLDS.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    return of_cell(plain)


def fits(text: str) -> bool:
    """Return whether a spreadsheet's cell can hold a text."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2 <= MOST_CHARACTERS


def audit_id(rollout: Rollout | SheetItem) -> str:
    """Return the identity of what people read, which reveals edits: a letter and eleven digits of its sha256.

    Without the letter a spreadsheet would treat one identity in two hundred as a number.
    """
    parts = (rollout.task, rollout.prompt_id, as_kept(rollout.prompt), as_kept(shown_text(rollout)))
    return f"a{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:11]}"


def as_row(rollout: Rollout, stratum: str) -> dict[str, str]:
    """Return the row in which a completion is scored, with empty rater columns."""
    item = SheetItem(
        audit_id=audit_id(rollout),
        task=rollout.task,
        prompt_id=rollout.prompt_id,
        stratum=stratum,
        prompt=as_kept(rollout.prompt),
        completion=as_kept(shown_text(rollout)),
    )
    return dict.fromkeys(COLUMNS, "") | item.model_dump()


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write a sheet atomically, as CSV that Excel in Brazil opens in columns and takes for UTF-8."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, delimiter=";")
    writer.writeheader()
    writer.writerows({name: row[name] if name in _NUMBERS else as_cell(row[name]) for name in COLUMNS} for row in rows)
    replace_whole(path, text.getvalue().encode("utf-8-sig"))


def read_rows(path: Path, *, may_be_empty: bool = False) -> tuple[Row, ...]:
    """Read a sheet's cells, scored or not; a spreadsheet numbers the first row 2.

    InputError where the file cannot be read, its columns are not the sheet's, or rows are incomplete or have no
    completion.
    """
    source = read_text(path)
    try:
        delimiter, header = header_of(source, COLUMNS)
        _check_columns(path, header)
        cells = [_whole(cells) for _, cells in source.rows(delimiter) if cells][1:]
    except ValueError as error:
        raise InputError(f"sheet {path}: {error}; correct it, or save it as CSV again") from None
    while cells and not any(cells[-1]):
        cells.pop()
    if not cells and not may_be_empty:
        raise InputError(f"sheet {path} has no rows; score at least one completion")
    faults = [f"row {number}: {fault}" for number, row in enumerate(cells, 2) if (fault := _fault(row))]
    if faults:
        raise InputError(f"sheet {path}: {first_few(faults)}; correct it")
    return tuple(
        {name: cell if name in _NUMBERS else as_kept(cell) for name, cell in zip(COLUMNS, row, strict=True)}
        for row in cells
    )


def is_scored(row: Row) -> bool:
    """Return whether a row has a score."""
    return bool(row["human_score"].strip())


def read_scored_sheet(path: Path, rollouts: Sequence[Rollout], raters: Sequence[str] = ()) -> ScoredSheet:
    """Read a sheet with every row scored, and find the rollout of each.

    InputError where the sheet cannot be read, rows are unscored, faulty or duplicated, their text matches no rollout,
    or a rater is not permitted.
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
    """Return the rollout of each row; InputError where one was edited, is of other rollouts or has another's id."""
    known = {audit_id(rollout): rollout for rollout in reversed(rollouts)}
    found = [_identity(row, known) for row in rows]
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


def _identity(row: SheetItem, known: Mapping[str, Rollout]) -> str:
    """Return the identity of a row's text, or the one that it gives itself where only an encoding changed the text."""
    identity = audit_id(row)
    own = known.get(row.audit_id)
    if identity not in known and own is not None and row.task == own.task and row.prompt_id == own.prompt_id:
        pairs = ((own.prompt, row.prompt), (shown_text(own), row.completion))
        if all(_as_saved_in_cp1252(as_kept(text)).fullmatch(as_kept(cell)) for text, cell in pairs):
            return row.audit_id
    return identity


def _as_saved_in_cp1252(text: str) -> re.Pattern[str]:
    """Return the pattern of a text in a file in cp1252: Excel writes ?, ?? or a similar letter for what it lacks."""
    characters = (character.encode("cp1252", "ignore") and re.escape(character) for character in text)
    return re.compile("".join(character or r"(?:\?\?|.)" for character in characters), re.DOTALL)


def _whole(cells: list[str]) -> list[str]:
    """Restore a row from which a spreadsheet dropped the empty last cell, or to which it added some."""
    if len(cells) == len(COLUMNS) - 1:
        return [*cells, ""]
    surplus = cells[len(COLUMNS) :]
    return cells if any(surplus) else cells[: len(COLUMNS)]


def _fault(cells: Sequence[str]) -> str | None:
    if len(cells) != len(COLUMNS):
        return f"it has {'more' if len(cells) > len(COLUMNS) else 'fewer'} cells than the header"
    try:
        SheetItem.model_validate(dict(zip(COLUMNS, cells, strict=True)))
    except ValidationError as error:
        return first_fault(error)
    return None


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    missing = [column for column in COLUMNS if column not in columns]
    while columns and not columns[-1]:
        columns = columns[:-1]
    if missing:
        raise InputError(f"sheet {path}, row 1, lacks the columns {', '.join(missing)}; save it with all columns")
    if columns != COLUMNS:
        raise InputError(
            f"sheet {path}, row 1: the columns are not {', '.join(COLUMNS)} in this order; put them back, for a column "
            "that was moved alone may stand beside other completions"
        )


def _validated(path: Path, cells: Sequence[Row]) -> tuple[SheetRow, ...]:
    rows: dict[int, SheetRow] = {}
    faults = []
    for number, row in enumerate(cells, 2):
        try:
            rows[number] = SheetRow.model_validate(row)
        except ValidationError as error:
            faults.append(f"row {number}: {first_fault(error)}")
    table = document_table(rows.values(), SheetRow)
    # The gate counts only people, and nobody is a person in one row and a model in another.
    one_kind = {"each rater is of one kind": ("rater", ("rater_kind",))}
    faults += row_faults(table, tuple(rows), one_kind, unique=("audit_id", "rater"))
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
    """Combine the scores of each completion: it counts once, by its text, whatever ids its rows have."""
    grouped: dict[str, list[tuple[int, SheetRow, Rollout]]] = {}
    for number, (row, rollout) in enumerate(zip(rows, rollouts, strict=True), 2):
        grouped.setdefault(audit_id(rollout), []).append((number, row, rollout))
    faults = []
    for scored in grouped.values():
        first: dict[str, int] = {}
        faults += [
            f"row {number}: its rater gave the same completion another score in an earlier row"
            for number, row, _ in scored
            if first.setdefault(row.rater, row.human_score) != row.human_score
        ]
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
