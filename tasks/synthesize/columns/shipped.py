"""Shipped column maps for the exports of shop systems, recognised by the header: `data/columns/*.toml`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from schemas.store.column_map import ColumnMap, read_column_map
from schemas.store.mapped_tables import NEEDED, TELL_CANCELED, TableName
from tasks.synthesize.columns.choices import ColumnChoice, choose, more_statuses, proposed
from tasks.synthesize.columns.kinds import expected, looks_like
from tasks.synthesize.columns.look import LookedFile
from tasks.synthesize.columns.names import FOLDER, ColumnNames, folded


@dataclass(frozen=True)
class ShippedMap:
    """A shipped map, with a file's own spelling of its columns."""

    name: str
    """Name of the system."""
    tables: Mapping[TableName, tuple[ColumnChoice, ...]]
    """Choices of each table."""


@cache
def shipped_maps() -> Mapping[str, ColumnMap]:
    """Return the shipped maps by the name of the system."""
    files = sorted(file for file in FOLDER.glob("*.toml") if file.stem != "names")
    return {file.stem: read_column_map(file) for file in files}


def shipped_map_of(file: LookedFile, names: ColumnNames) -> ShippedMap | None:
    """Return the shipped map whose header a file has, that of most columns; None without one."""
    found = [each for name, document in shipped_maps().items() if (each := _fitted(name, document, file, names))]
    return max(found, key=lambda each: sum(map(len, each.tables.values())), default=None)


def _fitted(name: str, document: ColumnMap, file: LookedFile, names: ColumnNames) -> ShippedMap | None:
    spelled = {folded(column): column for column in file.cells.columns}
    tables = {}
    for table in document.tables:
        present = {ours: spelled[folded(column)] for ours, column in table.columns.items() if folded(column) in spelled}
        if any(needed not in present for needed in NEEDED[table.table]):
            return None
        listed = {choice.ours: choice for choice in _choices(name, present, table.values, file, names)}
        tables[table.table] = tuple(_with_others(table.table, listed, file, names).values())
    return ShippedMap(name, tables)


def _with_others(
    table: TableName, listed: Mapping[str, ColumnChoice], file: LookedFile, names: ColumnNames
) -> Mapping[str, ColumnChoice]:
    """Return a table's choices with those that tell of canceled orders under other names than the system's."""
    left = {ours: ranks for ours, ranks in names.tables[table].items() if ours in TELL_CANCELED and ours not in listed}
    taken = {choice.theirs for choice in listed.values()}
    chosen = {**listed} | {ours: each for ours, each in choose(file, left, names).items() if each.theirs not in taken}
    return chosen | {each.ours: each for each in more_statuses(file, chosen, names)} if table == "orders" else chosen


def _choices(
    system: str,
    present: Mapping[str, str],
    values: Mapping[str, Mapping[str, str]],
    file: LookedFile,
    names: ColumnNames,
) -> Iterator[ColumnChoice]:
    for ours, column in present.items():
        cells = file.cells[column].drop_nulls()
        choice = ColumnChoice(ours, column, f"as {system} exports it")
        kind = expected(ours)
        if ours in names.values:
            known = {**names.values[ours]} | {folded(value): meaning for value, meaning in values.get(ours, {}).items()}
            found = cells.unique().sort().to_list()
            unknown = {value: proposed(value, known) for value in found if folded(value) not in known}
            if unknown:
                why = f"as {system} exports it, but {len(unknown)} of its {len(found)} values are unknown"
                choice = replace(choice, why=why, sure=False, unknown=unknown)
            translated = {value: known[folded(value)] for value in found if folded(value) in known}
            choice = replace(choice, values=translated)
        elif kind is not None and cells.len() and not looks_like(cells, kind):
            choice = replace(choice, why=f"as {system} exports it, but its cells are not {kind}", sure=False)
        if cells.len() or ours in TELL_CANCELED:
            yield choice
