"""Shipped column maps for the exports of shop systems, recognised by the header: `data/columns/*.toml`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from schemas.store.column_map import ColumnMap, MappedTableFile, read_column_map
from schemas.store.mapped_tables import NEEDED, TELL_CANCELED, TableName
from tasks.synthesize.columns.choices import ColumnChoice, choose, judged, more_statuses
from tasks.synthesize.columns.look import LookedFile
from tasks.synthesize.columns.names import FOLDER, ColumnNames, folded


@dataclass(frozen=True)
class ShippedMap:
    """Map of a shop system, with a file's own spelling of its columns."""

    name: str
    tables: Mapping[TableName, tuple[ColumnChoice, ...]]


@cache
def shipped_maps() -> Mapping[str, ColumnMap]:
    """Return the shipped maps by the name of the system."""
    files = sorted(file for file in FOLDER.glob("*.toml") if file.stem != "names")
    return {file.stem: read_column_map(file) for file in files}


def shipped_map_of(file: LookedFile, names: ColumnNames) -> ShippedMap | None:
    """Return the shipped map whose header a file has, that of most columns; None without one."""
    spelled = {folded(column): column for column in file.cells.columns}
    found = []
    for system, document in shipped_maps().items():
        if all(folded(each.columns[name]) in spelled for each in document.tables for name in NEEDED[each.table]):
            tables = {each.table: _choices(system, each, spelled, file, names) for each in document.tables}
            found.append(ShippedMap(system, tables))
    return max(found, key=lambda each: sum(map(len, each.tables.values())), default=None)


def _choices(
    system: str, table: MappedTableFile, spelled: Mapping[str, str], file: LookedFile, names: ColumnNames
) -> tuple[ColumnChoice, ...]:
    """Return a table's choices, with those that tell of canceled orders under other names than the system's."""
    listed: dict[str, ColumnChoice] = {}
    for ours, theirs in table.columns.items():
        column = spelled.get(folded(theirs))
        if column is not None and (ours in TELL_CANCELED or file.cells[column].null_count() < file.cells.height):
            known = {folded(value): meaning for value, meaning in table.values.get(ours, {}).items()}
            choice = judged(ours, column, file.cells[column], names, known)
            listed[ours] = replace(choice, why=choice.why.replace("by its name", f"as {system} exports it"))
    left = {
        ours: ranks for ours, ranks in names.tables[table.table].items() if ours in TELL_CANCELED and ours not in listed
    }
    taken = {choice.theirs for choice in listed.values()}
    listed |= {ours: each for ours, each in choose(file, left, names).items() if each.theirs not in taken}
    if table.table == "orders":
        listed |= {each.ours: each for each in more_statuses(file, listed, names)}
    return tuple(listed.values())
