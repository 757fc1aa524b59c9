"""Choice of a file's column for one of ours: by its name, and by what its cells look like."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import polars as pl

from schemas.store.column_map import CANCELED, OTHER_STATUSES, TELL_CANCELED
from tasks.synthesize.columns.look import STARS, LookedFile, are_mostly_states, expected, looks_like
from tasks.synthesize.columns.names import Known, folded, read_names, with_more

MOST_VALUES: Final = 40  # Different values of a status, beyond which it is none.
_POINTS: Final = re.compile(r"(\d{1,2})(?:[.,]0+)?")
_STARS: Final = re.compile(
    r"([1-5])(?:[.,]0+)?(?:\s*(?:estrelas?|stars?|/\s*5|de 5|out of 5|[-–—:.)]\s*\D+))?", re.IGNORECASE
)
_SIGNS: Final = re.compile(r"([★⭐]{1,5})[☆✩]*")


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


def identity_of(file: LookedFile, ours: str) -> ColumnChoice | None:
    """Return the personal column by which a file's rows are one person's; None without one."""
    identities = read_names().identities
    for column in file.personal:
        if folded(column) in identities and not _is_empty(file.cells[column]):
            return ColumnChoice(ours, column, "a person's own number or address, replaced by a keyed hash")
    return None


def choose(file: LookedFile, wanted: Known, phrases: Known = MappingProxyType({})) -> dict[str, ColumnChoice]:
    """Return the choice for each of our columns that the file seems to have.

    A column that is known by a phrase alone is taken only where its cells bear that out.
    """
    named = []
    for ours, ranks in with_more(wanted, phrases).items():
        for column in file.cells.columns:
            cells, name = file.cells[column], folded(column)
            if name in ranks and column not in file.personal and not _is_other(ours, name, cells):
                # Some shops give only some of their products a code.
                lacks = _is_empty(cells) or (ours == "product_id" and cells.null_count() > 0)
                choice = judged(ours, column, cells)
                if choice.sure or name in wanted[ours]:
                    # The cells go before the names: `Avaliação` may be the stars or the text, and is then no id.
                    named.append((lacks, not choice.sure, ours.endswith("_id"), ranks[name], choice))
    chosen: dict[str, ColumnChoice] = {}
    taken: set[str] = set()
    for *_, choice in sorted(named, key=lambda each: each[:4]):
        if choice.ours not in chosen and choice.theirs not in taken:
            chosen[choice.ours] = choice
            # Only an id may be two of ours: that of an order, and of its only customer.
            taken |= set() if choice.ours.endswith("_id") else {choice.theirs}
    return {ours: chosen[ours] for ours in wanted if ours in chosen}


def _is_empty(cells: pl.Series) -> bool:
    return cells.null_count() == cells.len()


def _is_other(ours: str, name: str, cells: pl.Series) -> bool:
    """Return whether a column whose name is that of a status and of a state, such as `Estado`, holds the other."""
    tables, known = read_names().tables, read_names().values["order_status"]
    if name not in tables["orders"]["order_status"] or name not in tables["customers"]["customer_state"]:
        return False
    is_status = any(folded(value) in known for value in cells.drop_nulls().unique()) or not are_mostly_states(cells)
    return is_status == (expected(ours) == "states")


def judged(ours: str, column: str, cells: pl.Series) -> ColumnChoice:
    """Return the choice of a column by its cells, and where ours has known values, by what they mean."""
    if _is_empty(cells):
        # A later export of the same form may have a canceled order.
        return ColumnChoice(ours, column, "by its name, but every cell is empty", sure=ours in TELL_CANCELED)
    if ours == "polarity" and (points := _points(cells)):
        return ColumnChoice(ours, column, "by its name, and from 9 of 10 it is positive, from 7 neutral", values=points)
    if ours in read_names().values:
        return _translated(ours, column, cells)
    kind = expected(ours)
    if kind is None or looks_like(cells, kind):
        return ColumnChoice(ours, column, f"by its name, and its cells are {kind}" if kind else "by its name")
    if kind == STARS and (stars := _stars(cells)):
        return ColumnChoice(ours, column, "by its name, and its cells are stars in words", values=stars)
    return ColumnChoice(ours, column, f"by its name, but its cells are not {kind}", sure=False)


def _translated(ours: str, column: str, cells: pl.Series) -> ColumnChoice:
    known = read_names().values[ours]
    found = cells.drop_nulls().unique().sort().to_list()
    if len(found) > MOST_VALUES:
        return ColumnChoice(ours, column, f"by its name, but it has {len(found):,} different values", sure=False)
    values = {value: known[folded(value)] for value in found if folded(value) in known}
    unknown = {value: _proposed(value, known) for value in found if value not in values}
    why = "by its name, and all its values are known"
    if unknown:
        why = f"by its name, but {len(unknown)} of its {len(found)} values are unknown; say below what they mean"
    different = {theirs: value for theirs, value in values.items() if theirs != value}
    return ColumnChoice(ours, column, why, not unknown, different, unknown)


def _points(cells: pl.Series) -> dict[str, str] | None:
    """Return the polarity of each number of a net promoter score, from 0 to 10; None where the cells are others."""
    found = cells.drop_nulls().unique().sort().to_list()
    points = {cell: int(number[1]) for cell in found if (number := _POINTS.fullmatch(cell))}
    if len(points) < len(found) or not 5 < max(points.values()) <= 10:
        return None
    return {cell: "positive" if n >= 9 else "neutral" if n >= 7 else "negative" for cell, n in points.items()}


def _stars(cells: pl.Series) -> dict[str, str] | None:
    """Return the number of stars that each cell names, such as `5 estrelas`; None where one names none."""
    words, stars = read_names().values["stars"], dict[str, str]()
    for cell in cells.drop_nulls().unique().sort().head(MOST_VALUES + 1):
        # An emoji may have a sign behind it that says how it is drawn.
        text = cell.replace("\ufe0f", "")
        number, signs = _STARS.fullmatch(text), _SIGNS.fullmatch(text.replace(" ", ""))
        stars[cell] = number[1] if number else str(len(signs[1])) if signs else words.get(folded(text), "")
    return None if len(stars) > MOST_VALUES or "" in stars.values() else stars


def _proposed(value: str, known: Mapping[str, str]) -> str:
    """Return what the longest known value means all of whose words are in a file's value; nothing without one."""
    words = set(folded(value).split())
    return known[max(alike, key=len)] if (alike := [each for each in known if words.issuperset(each.split())]) else ""


def more_statuses(file: LookedFile, chosen: Mapping[str, ColumnChoice]) -> Iterator[ColumnChoice]:
    """Yield further columns that tell of canceled orders by name or values, one for each status that is left."""
    left = [ours for ours in ("order_status", *OTHER_STATUSES) if ours not in chosen]
    taken = {choice.theirs for choice in chosen.values()}
    for column in file.cells.columns:
        cells = file.cells[column]
        if not left or column in taken or column in file.personal or _is_empty(cells):
            continue
        if tells_canceled(column, cells):
            # One that differs within an order is of its items, which may be canceled by themselves.
            said = file.cells.group_by(chosen["order_id"].theirs).agg(pl.col(column).drop_nulls().n_unique())
            if not (said[column] > 1).any():
                yield judged(left.pop(0), column, cells)


def tells_canceled(column: str, cells: pl.Series) -> bool:
    """Return whether a column is named like a status, or half of its values are known ones, `canceled` among them."""
    names, name = read_names(), folded(column)
    if any(name in names.tables["orders"][ours] for ours in ("order_status", *OTHER_STATUSES)):
        return not _is_other("order_status", name, cells)
    found = cells.drop_nulls().unique()
    if found.len() > MOST_VALUES:
        return False
    known = names.values["order_status"]
    meant = [known[folded(value)] for value in found if folded(value) in known]
    return CANCELED in meant and len(meant) >= found.len() / 2
