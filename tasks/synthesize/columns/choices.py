"""Choice of a file's column for one of ours: by its name, and by what its cells look like."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from schemas.store.mapped_tables import CANCELED, OTHER_STATUSES, TELL_CANCELED
from tasks.synthesize.columns.kinds import expected, looks_like, share_of
from tasks.synthesize.columns.look import LookedFile
from tasks.synthesize.columns.names import ColumnNames, Ranked, folded

MOST_VALUES: Final = 40
"""Different values of a status, beyond which it is none."""


@dataclass(frozen=True)
class ColumnChoice:
    """A column of the file for one of ours."""

    ours: str
    theirs: str
    why: str
    sure: bool = True
    """Whether it is used; one that is not sure is a comment, to be confirmed by a person."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Our value, by the file's, where they differ."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Proposed value of ours, by the file's where it is none of the known ones; empty where nothing is like it."""

    @property
    def waits(self) -> bool:
        """Return whether a run reads it and refuses it until a person completes it, lest canceled orders count."""
        return not self.sure and self.ours in TELL_CANCELED


def identity_of(file: LookedFile, names: ColumnNames) -> ColumnChoice | None:
    """Return the personal column by which a file's rows are one person's; None without one."""
    for column in file.personal:
        if folded(column) in names.identities and file.cells[column].null_count() < file.cells.height:
            return ColumnChoice("customer_id", column, "a person's own number or address, replaced by a keyed hash")
    return None


def choose(file: LookedFile, wanted: Mapping[str, Ranked], names: ColumnNames) -> dict[str, ColumnChoice]:
    """Return the choice for each of our columns that the file seems to have."""
    open_columns = [column for column in file.cells.columns if column not in file.personal]
    named = [
        (_is_empty(file.cells[column]), rank, judged(ours, column, file.cells[column], names))
        for ours, ranks in wanted.items()
        for column in open_columns
        if (rank := ranks.get(folded(column))) is not None and not _is_other(ours, column, file.cells[column], names)
    ]
    chosen: dict[str, ColumnChoice] = {}
    taken: set[str] = set()
    # What the cells bear out goes first: `Avaliação` may be the stars or the text.
    for _, _, choice in sorted(named, key=lambda each: (each[0], not each[2].sure, each[1])):
        if choice.ours not in chosen and choice.theirs not in taken:
            chosen[choice.ours] = choice
            # Only an id may be two of ours: that of an order, and of its only customer.
            taken |= set() if choice.ours.endswith("_id") else {choice.theirs}
    return {ours: chosen[ours] for ours in wanted if ours in chosen}


def _is_empty(cells: pl.Series) -> bool:
    return cells.null_count() == cells.len()


def _is_other(ours: str, column: str, cells: pl.Series, names: ColumnNames) -> bool:
    """Return whether a column whose name is that of a status and of a state, such as `Estado`, holds the other."""
    name, known = folded(column), names.values["order_status"]
    if name not in names.tables["orders"]["order_status"] or name not in names.tables["customers"]["customer_state"]:
        return False
    is_status = any(folded(value) in known for value in cells.drop_nulls().unique()) or share_of(cells, "states") < 0.5
    return is_status == (expected(ours) == "states")


def judged(
    ours: str, column: str, cells: pl.Series, names: ColumnNames, more: Mapping[str, str] | None = None
) -> ColumnChoice:
    """Return the choice of a column by its cells; `more` are further known values of ours, by the file's folded."""
    kind = expected(ours)
    if _is_empty(cells):
        # A later export of the same form may have a canceled order.
        return ColumnChoice(ours, column, "by its name, but every cell is empty", sure=ours in TELL_CANCELED)
    if ours in names.values:
        return _translated(ColumnChoice(ours, column, "by its name"), cells, {**names.values[ours], **(more or {})})
    if kind is not None and not looks_like(cells, kind):
        return ColumnChoice(ours, column, f"by its name, but its cells are not {kind}", sure=False)
    return ColumnChoice(ours, column, f"by its name, and its cells are {kind}" if kind else "by its name")


def _translated(choice: ColumnChoice, cells: pl.Series, known: Mapping[str, str]) -> ColumnChoice:
    """Return a choice with our value for each of the file's, or not sure where one is unknown."""
    found = cells.drop_nulls().unique().sort().to_list()
    if len(found) > MOST_VALUES:
        return replace(choice, why=f"by its name, but it has {len(found):,} different values", sure=False)
    values = {value: known[folded(value)] for value in found if folded(value) in known}
    unknown = {value: proposed(value, known) for value in found if value not in values}
    different = {value: ours for value, ours in values.items() if value != ours}
    if unknown:
        why = f"by its name, but {len(unknown)} of its {len(found)} values are unknown; say below what they mean"
        return replace(choice, why=why, sure=False, values=different, unknown=unknown)
    return replace(choice, why="by its name, and all its values are known", values=different)


def proposed(value: str, known: Mapping[str, str]) -> str:
    """Return what the longest known value means all of whose words are in a file's value; nothing without one."""
    words = set(folded(value).split())
    return known[max(alike, key=len)] if (alike := [each for each in known if words.issuperset(each.split())]) else ""


def more_statuses(file: LookedFile, chosen: Mapping[str, ColumnChoice], names: ColumnNames) -> Iterator[ColumnChoice]:
    """Yield further columns that tell of canceled orders by name or values, one for each status that is left."""
    left = [ours for ours in ("order_status", *OTHER_STATUSES) if ours not in chosen]
    taken = {choice.theirs for choice in chosen.values()}
    for column in file.cells.columns:
        cells = file.cells[column]
        if not left or column in taken or column in file.personal or _is_empty(cells):
            continue
        if tells_canceled(column, cells, names) and _is_of_orders(file, chosen["order_id"].theirs, column):
            yield judged(left.pop(0), column, cells, names)


def tells_canceled(column: str, cells: pl.Series, names: ColumnNames) -> bool:
    """Return whether a column is named like a status, or half of its values are known ones, `canceled` among them."""
    known = names.values["order_status"]
    if any(folded(column) in names.tables["orders"][ours] for ours in ("order_status", *OTHER_STATUSES)):
        return not _is_other("order_status", column, cells, names)
    found = cells.drop_nulls().unique()
    if found.len() > MOST_VALUES:
        return False
    meant = [known[folded(value)] for value in found if folded(value) in known]
    return CANCELED in meant and len(meant) >= found.len() / 2


def _is_of_orders(file: LookedFile, order_id: str, column: str) -> bool:
    """Return whether all rows of an order say the same in a column: one of items may be canceled by itself."""
    said = file.cells.group_by(order_id).agg(pl.col(column).drop_nulls().n_unique().alias("said"))["said"]
    return not (said > 1).any()
