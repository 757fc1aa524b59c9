"""Look at a shop's files: their columns, whatever kind of file it is, and what their cells look like."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import polars as pl

from schemas.errors import InputError
from schemas.store.column_map import FORMATS, QUANTITY, REFUNDED
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold
from tasks.synthesize.columns.names import folded, read_names
from tasks.synthesize.own.cells import DATES, without_nothing
from tasks.synthesize.own.identities import FULL_NAME
from tasks.synthesize.own.rows import read_rows

LOOKED_AT: Final = 2_000
"""Cells of a column that are looked at."""
ENOUGH: Final = 0.95
"""Share of the cells that must look like a kind: files have a few odd ones, which reading then names."""
_STATES: Final = "|".join(
    form for line in read_lexicon("states") for part in line.split(" = ", 1) for form in (part, fold(part))
)
_PATTERNS: Final[Mapping[str, str]] = {
    "dates": "|".join(f"(?:{pattern})" for pattern in DATES),
    "stars from 1 to 5": r"^[1-5](?:[.,]0+)?$",
    "whole numbers": r"^\d+(?:[.,]0+)?$",
    "numbers": r"^-?\s*(?:R\$)?\s*-?\d[\d.,]*$",
    "true or false": r"(?i)^(?:true|false|1|0|sim|s|yes|não|nao|n|no)$",
    "states": rf"(?i)^(?:br-)?(?:{_STATES})$",
    "prefixes of postcodes": r"^\d{4,5}$",
    "texts": r"\p{L}{2,}\s+\S*\p{L}{2,}",
    "codes": r"^(?:[\w-]*\d[\w-]*|[0-9a-fA-F]{16,})$",
}
_EXPECTED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("order_id", "customer_id", "customer_unique_id", "review_id", "seller_id"), "ids"),
    "order_approved_at": "dates",
    **dict.fromkeys(("review_score", "score", "rating", "last_rating"), "stars from 1 to 5"),
    **dict.fromkeys(("price", "freight_value", "payment_value", REFUNDED, "spent", "mean_rating"), "numbers"),
    **dict.fromkeys((QUANTITY, "orders", "instalments", "silent_days", "late", "undelivered"), "whole numbers"),
    **dict.fromkeys(("churned", "churn"), "true or false"),
    **dict.fromkeys(("review_comment_message", "review", "question"), "texts"),
    "state": "states",
}
_BY_ENDING: Final[Mapping[str, str]] = {
    **dict.fromkeys(("_timestamp", "_date"), "dates"),
    **dict.fromkeys(("_qty", "_lenght", "_g", "_cm", "_installments", "_sequential", "_item_id"), "whole numbers"),
    "_state": "states",
    "_zip_code_prefix": "prefixes of postcodes",
}
_PERSONAL: Final = (
    r"^[\w.+-]+@[\w-]+\.[\w.-]+$",
    r"^\d{3}\.\d{3}\.\d{3}-\d{2}$|^\d{2}\.\d{3}\.\d{3}/\d{4}-\d{2}$",
    r"^(?:\+?55)?\s*\(?\d{2}\)?\s*9?\d{4}-\d{4}$|^\+55\d{10,11}$",
)
_TAXPAYER: Final = r"^(?:\d{11}|\d{14})$"
_CHECKED: Final = 100
"""Numbers whose check digits are looked at."""
_SHORTEST_TEXT: Final = 20
"""Mean characters of what people write, in contrast to names and codes."""
OF_DATA: Final = tuple(ending for ending in FORMATS if ending != ".txt")
"""Endings that are looked for in a folder, where a text is rather a note than an export."""
MOST_FILES: Final = 50
"""Files of a folder: with more, it is no folder of exports."""


def expected(ours: str) -> str | None:
    """Return the kind of a column of ours; None where any text will do."""
    by_ending = next((kind for ending, kind in _BY_ENDING.items() if ours.endswith(ending)), None)
    return _EXPECTED.get(ours, by_ending)


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
    """Return whether cells are e-mail addresses, numbers of identity documents, or telephone numbers."""
    some = _some(cells)
    if some.is_empty():
        return False
    return max(_share(some, pattern) for pattern in _PERSONAL) >= 0.5 or _are_taxpayers(some)


def _are_taxpayers(cells: pl.Series) -> bool:
    """Return whether numbers without punctuation have the check digits of CPF or CNPJ, as one in a hundred would."""
    from stdnum.br import cnpj, cpf

    bare = cells.filter(cells.str.contains(_TAXPAYER))
    if bare.len() < cells.len() / 2:
        return False
    some = bare.head(_CHECKED)
    return sum(bool(cpf.is_valid(cell) or cnpj.is_valid(cell)) for cell in some) >= some.len() / 2


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
