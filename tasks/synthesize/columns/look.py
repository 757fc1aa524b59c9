"""Look at a shop's files: their columns and cells, whatever kind of file it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import polars as pl

from schemas.errors import InputError
from schemas.store.column_map import FORMATS
from tasks.synthesize.columns.kinds import is_personal, looks_like
from tasks.synthesize.columns.names import folded, read_names
from tasks.synthesize.own.cells import without_nothing
from tasks.synthesize.own.rows import read_rows

OF_DATA: Final = tuple(ending for ending in FORMATS if ending != ".txt")
"""Endings that are looked for in a folder, where a text is rather a note than an export."""
MOST_FILES: Final = 50
"""Files of a folder: with more, it is no folder of exports."""


@dataclass(frozen=True)
class LookedFile:
    """A file and its cells."""

    path: Path
    cells: pl.DataFrame
    """Its columns as texts; null where a cell is empty, or says so."""
    nested: tuple[str, ...] = ()
    """Keys of a file of JSON Lines that hold objects, which no column map names."""
    numbers: frozenset[str] = frozenset()
    """Columns whose cells were all numbers in the file, and no texts."""

    @cached_property
    def personal(self) -> tuple[str, ...]:
        """Return the columns with personal data, by name or by cells; those that may identify a person first."""
        names = read_names()
        found = [
            column
            for column in self.cells.columns
            if folded(column) in names.personal
            or is_personal(self.cells[column])
            or (folded(column) in names.names_or_codes and not looks_like(self.cells[column], "codes"))
        ]
        last = len(names.identities)
        return tuple(sorted(found, key=lambda column: names.identities.get(folded(column), last)))


def find_files(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the files that are named, and those of a format that can be read in the folders that are.

    Raises:
        InputError: A path does not exist, a file has another format, or a folder has none or too many.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        for file in _in_folder(path) if path.is_dir() else (path,):
            if not file.exists():
                raise InputError(f"{file} does not exist; give files or folders of {', '.join(FORMATS)}")
            if file.suffix.lower() not in FORMATS:
                raise InputError(f"{file} is none of {', '.join(FORMATS)}; export it as one of them")
            found.setdefault(file.resolve(), file)
    return tuple(found.values())


def look_at(path: Path) -> LookedFile:
    """Read a file."""
    rows = read_rows(path)
    if not rows.texts.width:
        raise InputError(f"{path} has no column of texts or numbers; write flat rows")
    return LookedFile(path, rows.texts.select(pl.all().map_batches(without_nothing)), tuple(rows.nested), rows.numbers)


def _in_folder(folder: Path) -> list[Path]:
    # A name that begins with a dot is a program's own.
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in OF_DATA and file.name[0] != ".")
    if not files or len(files) > MOST_FILES:
        raise InputError(
            f"folder {folder} has {len(files) or 'no'} files of {', '.join(OF_DATA)}; give a folder of 1 to "
            f"{MOST_FILES} exports, or name files"
        )
    return files
