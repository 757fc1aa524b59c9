"""Look at a shop's files: their columns, whatever kind of file it is, and what their cells look like."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import polars as pl

from schemas.errors import InputError
from schemas.store.column_map import FORMATS
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold
from tasks.personal_data.scrub import personal_identifiers
from tasks.synthesize.columns.names import folded, read_names
from tasks.synthesize.own.cells import DATES, without_nothing
from tasks.synthesize.own.identities import FULL_NAME
from tasks.synthesize.own.rows import read_rows

LOOKED_AT: Final = 2_000  # Cells of a column that are looked at.
ENOUGH: Final = 0.95
"""Share of the cells that must look like a kind: files have a few odd ones, which reading then names."""
STARS: Final = "stars from 1 to 5"
_STATES: Final = "|".join(
    form for line in read_lexicon("states") for part in line.split(" = ", 1) for form in (part, fold(part))
)
_PATTERNS: Final[Mapping[str, str]] = {
    "dates": "|".join(f"(?:{pattern})" for pattern in DATES),
    STARS: r"^[1-5](?:[.,]0+)?$",
    "whole numbers": r"^\d+(?:[.,]0+)?$",
    "numbers": r"^-?\s*(?:R\$)?\s*-?\d[\d.,]*$",
    "true or false": r"(?i)^(?:true|false|1|0|sim|s|yes|não|nao|n|no)$",
    "states": rf"(?i)^(?:br-)?(?:{_STATES})$",
    "prefixes of postcodes": r"^\d{4,5}$",
    "texts": r"\p{L}{2,}\s+\S*\p{L}{2,}",
    "codes": r"^(?:[\w-]*\d[\w-]*|[0-9a-fA-F]{16,})$",
}
_FOREIGN: Final = r"(?i)\b(?:muy|pero|el|y|del|una|ya|llegó|llego|the|and|was|very|not|it)\b"
"""Words of Spanish and English that no Portuguese sentence has."""
_SHORTEST_TEXT: Final = 20  # Mean characters of what people write, in contrast to names and codes.
OF_DATA: Final = tuple(ending for ending in FORMATS if ending != ".txt")
"""Endings that are looked for in a folder, where a text is rather a note than an export."""
MOST_FILES: Final = 50  # Files of a folder: with more, it is no folder of exports.


def expected(ours: str) -> str | None:
    """Return the kind of a column of ours; None where any text will do."""
    kinds = read_names().kinds
    endings = (kind for name, kind in kinds.items() if name[0] == "*" and ours.endswith(name[1:]))
    return kinds.get(ours) or next(endings, None)


def looks_like(cells: pl.Series, kind: str) -> bool:
    """Return whether a column's cells are of a kind; a column without any is of none."""
    some = _some(cells)
    if some.is_empty():
        return False
    if kind == "ids":
        # Two people may have one name, and a name is nobody's id.
        return _share(some, FULL_NAME) < 0.5 and _share(some, _PATTERNS["texts"]) < 0.5
    if kind == "texts":
        # Some reviews are one word.
        return int(some.str.len_chars().sum()) >= _SHORTEST_TEXT * some.len() and _share(some, _PATTERNS[kind]) >= 0.6
    return _share(some, _PATTERNS[kind]) >= ENOUGH


def are_mostly_states(cells: pl.Series) -> bool:
    """Return whether at least half of a column's cells are states."""
    some = _some(cells)
    return not some.is_empty() and _share(some, _PATTERNS["states"]) >= 0.5


def is_personal(cells: pl.Series) -> bool:
    """Return whether half of the cells are e-mail addresses, numbers of documents or telephones; texts are scrubbed."""
    from stdnum.br import cnpj

    some = _some(cells).head(100).alias("customer_id")
    found = personal_identifiers(some) | pl.Series([cnpj.is_valid(cell) for cell in some], dtype=pl.Boolean)
    return not some.is_empty() and int(found.sum()) >= some.len() / 2 and not looks_like(cells, "texts")


def _some(cells: pl.Series) -> pl.Series:
    return cells.drop_nulls().head(LOOKED_AT).str.strip_chars()


def _share(cells: pl.Series, pattern: str) -> float:
    return int(cells.str.contains(pattern).sum()) / cells.len()


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
    notes: tuple[str, ...] = ()
    """Sentences on how it was read, and on its language."""

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

    InputError where a path does not exist, a file has another format, or a folder has none or too many.
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
    cells = rows.texts.select(pl.all().map_batches(without_nothing))
    foreign = (
        f"{name} is hardly in Portuguese, the only language that rewards and checks know"
        for name in cells.columns
        if looks_like(cells[name], "texts") and _share(_some(cells[name]), _FOREIGN) >= 0.4
    )
    return LookedFile(path, cells, tuple(rows.nested), rows.numbers, (*rows.notes, *foreign))


def _in_folder(folder: Path) -> list[Path]:
    # A name that begins with a dot is a program's own.
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in OF_DATA and file.name[0] != ".")
    if not files or len(files) > MOST_FILES:
        raise InputError(
            f"folder {folder} has {len(files) or 'no'} files of {', '.join(OF_DATA)}; give a folder of 1 to "
            f"{MOST_FILES} exports, or name files"
        )
    return files
