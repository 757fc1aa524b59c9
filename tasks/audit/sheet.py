"""The audit sheet: what people (or a rubric) scored, read back from a spreadsheet and checked row by row."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from schemas.documents import Rollout, SheetRow
from schemas.errors import InputError
from schemas.faults import first_fault
from schemas.store_faults import first_fault as first_csv_fault
from schemas.table_check import as_table, table_faults

_MOST_NAMED = 5
# Where the CSV reader puts the cells beyond the last column.
_SURPLUS = "surplus"


def read_sheet(path: Path) -> tuple[SheetRow, ...]:
    """Read a scored sheet; rows are named as a spreadsheet numbers them, the header being row 1.

    Raises:
        InputError: The file cannot be read, columns are missing, or rows are faulty, unscored or there twice.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restkey=_SURPLUS, strict=True)
            cells = list(reader)
            columns = reader.fieldnames or ()
    except UnicodeDecodeError:
        raise InputError(
            f"sheet {path} cannot be read: {first_csv_fault(path) or 'it is not UTF-8'}; save it as UTF-8 CSV"
        ) from None
    except (OSError, csv.Error) as error:
        raise InputError(f"sheet {path} cannot be read: {error}") from None
    missing = [column for column in SheetRow.model_fields if column not in columns]
    if missing:
        raise InputError(f"sheet {path} lacks the columns {', '.join(missing)}; save it as CSV separated by commas")
    if not cells:
        raise InputError(f"sheet {path} has no rows; score at least one completion")
    unscored = [f"row {number}" for number, row in enumerate(cells, 2) if not row["human_score"]]
    if unscored:
        raise InputError(f"sheet {path}: {len(unscored)} of {len(cells)} rows have no score: {_list(unscored)}")
    return _validated(path, cells)


def match_rollouts(rows: Sequence[SheetRow], rollouts: Sequence[Rollout]) -> tuple[Rollout, ...]:
    """Return the rollout that each row of the sheet was made of, in the rows' order.

    Raises:
        InputError: A row's prompt or completion is not that of any rollout: it was edited, or belongs to others.
    """
    known = {(rollout.task, rollout.prompt_id, rollout.prompt, rollout.completion): rollout for rollout in rollouts}
    keys = [(row.task, row.prompt_id, row.prompt, row.completion) for row in rows]
    strangers = [f"row {number}" for number, key in enumerate(keys, 2) if key not in known]
    if strangers:
        raise InputError(
            f"prompt or completion of {_list(strangers)} is not among the rollouts; restore the text as it was answered"
        )
    return tuple(known[key] for key in keys)


def _validated(path: Path, cells: Sequence[Mapping[str, object]]) -> tuple[SheetRow, ...]:
    from schemas.sheet_table import AuditSheet

    rows: dict[int, SheetRow] = {}
    faults = []
    for number, row in enumerate(cells, 2):
        try:
            rows[number] = SheetRow.model_validate(row)
        except ValidationError as error:
            faults.append(f"row {number}: {first_fault(error)}")
        if _SURPLUS in row:
            faults.append(f"row {number}: it has more cells than the header")
    faults += table_faults(as_table(rows.values(), AuditSheet), AuditSheet, tuple(rows))
    if faults:
        raise InputError(f"sheet {path}: {_list(faults)}; correct it")
    return tuple(rows.values())


def _list(items: Sequence[str]) -> str:
    more = f"; and {len(items) - _MOST_NAMED} more" if len(items) > _MOST_NAMED else ""
    return "; ".join(items[:_MOST_NAMED]) + more
