"""A shop's files as its column map names them: checked by name before any is read, and read as what they were then."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import polars as pl

from schemas.disk import file_sha256
from schemas.errors import InputError
from schemas.faults import did_you_mean
from schemas.store.column_map import (
    IDENTITIES,
    PROMPT,
    ColumnMap,
    MappedFile,
    MappedPrompts,
    MappedTableFile,
    read_column_map,
    reference_fields,
    refuse_answers_in_prompts,
)
from schemas.tasks import TaskName
from tasks.commerce.inputs import TaskInputs
from tasks.synthesize.own.cells import ColumnCells, as_identifiers
from tasks.synthesize.own.identities import KINDS, personal_kinds, replaced
from tasks.synthesize.own.rows import read_rows
from tasks.synthesize.own.sheets import FileRows

FOLLOWING: Final[Mapping[str, Mapping[str, str]]] = {
    "orders": {"customer_id": "order_id"},
    "customers": {"customer_unique_id": "customer_id"},
    "reviews": {"review_id": "order_id"},
}
"""Identities of a table that follow from another column where they are not mapped: without a customer's id each order
is of a person of its own; a review's is then its order's, numbered where that has several."""

NO_TABLES: Final = (
    "its queries run on the shop's tables, of which the column map has none; add [[tables]], of orders at least"
)
Identities = Mapping[str, pl.Series]


@dataclass(frozen=True)
class OwnFiles:
    """Files of a shop, by its column map."""

    column_map: ColumnMap
    digests: Mapping[str, str]
    """The sha256 of the map and of each file, by path."""
    key: Callable[[], bytes]
    """Returns the key of pseudonyms, where some are needed."""
    inputs: Mapping[TaskName, type[TaskInputs]]
    """What a prompt of each task is written from. Given by the caller: the registry of tasks knows the rewards, too, of
    which no prompt depends."""

    @cached_property
    def _tables(self) -> Mapping[Path, FileRows]:
        """Return the mapped columns of every file."""
        tables = {}
        for path in self.column_map.files:
            named = (name for file in self._files() if file.path == path for name in _columns(file))
            tables[path] = read_rows(path, list(dict.fromkeys(named)))
            if file_sha256(path) != self.digests[str(path)]:
                raise InputError(f"{path} changed while it was read; wait until it is written, and run it again")
        return tables

    def _files(self) -> Iterator[MappedFile]:
        yield from self.column_map.prompts
        yield from self.column_map.tables

    def rows(self, file: MappedFile) -> int:
        """Return the number of rows of a file."""
        return self._tables[file.path].texts.height

    def place(self, file: MappedFile) -> ColumnCells:
        """Return the cells of any column, to name a row by."""
        return self.cells(file, next(iter(file.columns.values())), "")

    def cells(self, file: MappedFile, name: str, ours: str) -> ColumnCells:
        """Return the cells of a column, with our values for the file's."""
        place = f"{file.path}: column {name!r}"
        rows = self._tables[file.path]
        cells = ColumnCells(rows.texts[name], place, rows.header, name in rows.numbers)
        return cells.translated(file.values[ours]) if ours in file.values else cells

    @cached_property
    def _identities(self) -> tuple[dict[int, Identities], list[str]]:
        """Return the identities of each file, and the kinds of which pseudonyms were made."""
        found = {id(file): dict(self._identities_of(file)) for file in self._files()}
        personal = personal_kinds(
            (name, f"{file.path}: column {file.columns[name]!r}", values)
            for file in self._files()
            for name, values in found[id(file)].items()
            if name in file.columns
        )
        key = self.key() if personal else b""
        for of_file in found.values():
            of_file |= {name: replaced(of_file[name], key) for name in of_file if KINDS[name] in personal}
        return {**found}, personal

    @property
    def made_pseudonyms(self) -> list[str]:
        """Return the kinds of identities that were replaced: `customer`, `order`, `review`, `seller`."""
        return self._identities[1]

    def identities(self, file: MappedFile) -> Identities:
        """Return the identities of a file's rows by our column; none of them is personal data."""
        return self._identities[0][id(file)]

    def _identities_of(self, file: MappedFile) -> Iterator[tuple[str, pl.Series]]:
        following = FOLLOWING.get(file.table, {}) if isinstance(file, MappedTableFile) else {}
        for ours in KINDS:
            theirs = file.columns.get(ours) or file.columns.get(following.get(ours, ""))
            if theirs is not None:
                yield ours, as_identifiers(self.cells(file, theirs, ours))


def open_own_files(path: Path, key: Callable[[], bytes], inputs: Mapping[TaskName, type[TaskInputs]]) -> OwnFiles:
    """Read a column map, check its names, and take the digests of its files."""
    column_map = read_column_map(path)
    for number, prompts in enumerate(column_map.prompts, 1):
        _check_inputs(f"column map {path}: prompts.{number}", prompts, inputs)
    if not column_map.tables and any(file.task == "sql_qa" for file in column_map.prompts):
        raise InputError(f"column map {path} has rows of sql_qa, and {NO_TABLES}")
    digests = {}
    for file in (path, *column_map.files):
        try:
            digests[str(file)] = file_sha256(file)
        except OSError as error:
            raise InputError(f"{file} cannot be read ({error.strerror}); correct its path in {path}") from None
    return OwnFiles(column_map, digests, key, inputs)


def _columns(file: MappedFile) -> Iterator[str]:
    yield from file.columns.values()
    if isinstance(file, MappedPrompts):
        yield from file.reference.values()
        if file.task_column is not None:
            yield file.task_column


def _check_inputs(place: str, prompts: MappedPrompts, of_tasks: Mapping[TaskName, type[TaskInputs]]) -> None:
    inputs = {name: field for task in prompts.tasks for name, field in of_tasks[task].model_fields.items()}
    given = [name for name in prompts.columns if name not in IDENTITIES]
    for name in given:
        if name != PROMPT and name not in inputs:
            choices = [PROMPT, *inputs, *IDENTITIES]
            near = did_you_mean(name, choices) or f"; use {', '.join(choices)}"
            raise InputError(f"{place}: {name!r} is no input of {prompts.task or 'any task'}{near}")
    if PROMPT in given and len(given) > 1:
        others = ", ".join(name for name in given if name != PROMPT)
        raise InputError(f"{place}: {PROMPT} is the whole text, and {others} would be no part of it; map either")
    for task in prompts.tasks:
        columns = {ours: name for ours, name in prompts.columns.items() if ours in {*of_tasks[task].model_fields}}
        reference = {ours: name for ours, name in prompts.reference.items() if ours in reference_fields(task)}
        try:
            refuse_answers_in_prompts(columns, reference)
        except ValueError as error:
            raise InputError(f"{place}: as {task}, {error}") from None
    missing = [name for name, field in inputs.items() if field.is_required() and name not in given]
    if PROMPT not in given and (missing if prompts.task else not given):
        raise InputError(
            f"{place}: columns lacks {', '.join(missing)}, from which the prompt is written; map them, or {PROMPT}"
        )
