"""Look at a shop's files: the known names of their columns, of `data/columns/names.toml`, and what their cells are."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from schemas.errors import InputError
from schemas.store.column_map import FORMATS, OTHER_STATUSES
from tasks.commerce.text.lexicons import read_data, read_lexicon
from tasks.commerce.text.text_form import fold
from tasks.personal_data.scrub import personal_identifiers
from tasks.synthesize.own.cells import DATES, without_nothing
from tasks.synthesize.own.identities import FULL_NAME
from tasks.synthesize.own.rows import read_rows

NAMES_FILE: Final = "columns/names.toml"
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORDS: Final = re.compile(r"[a-z0-9]+|#")
_GENDER: Final = re.compile(r"(?<=[a-z]{3})[ao]\Z")
_DOUBLED: Final = re.compile(r" \(\d+\)\Z")  # of the second of two columns of one name

Ranked = Mapping[str, int]
"""Rank of each name that is known of a column of ours, by the folded name; the lowest wins."""
Known = Mapping[str, Ranked]  # Names by column of ours.
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
_SHORTEST_TEXT: Final = 20  # Mean characters of what people write, in contrast to names and codes.
OF_DATA: Final = tuple(ending for ending in FORMATS if ending != ".txt")
"""Endings that are looked for in a folder, where a text is rather a note than an export."""
MOST_FILES: Final = 50  # Files of a folder: with more, it is no folder of exports.


@dataclass(frozen=True)
class ColumnNames:
    """All known names, folded."""

    tables: Mapping[str, Known]
    prompts: Mapping[str, Known]
    """Inputs by task; `review` for those that read one."""
    references: Mapping[str, Known]
    beside: Mapping[str, Known]
    """By a folded name: names that count only in a file that has it, too."""
    identities: Ranked
    """Personal columns that may identify a person."""
    personal: frozenset[str]
    names_or_codes: frozenset[str]
    """Columns that are personal where they hold no codes."""
    kinds: Mapping[str, str]
    """Kind of the cells by column of ours, or by `*` and an ending."""
    values: Mapping[str, Mapping[str, str]]
    """By column of ours: our value, by the folded one of a file."""


def folded(name: str) -> str:
    """Return a name in the form in which names are compared: `ID do Pedido`, `codPedido` and `order_id` are one."""
    words = _WORDS.findall(fold(_HUMP.sub(" ", _DOUBLED.sub("", name)).replace("º", "").replace("ª", "")))
    fillers, same = _word_lists()
    telling = [word for word in words if word not in fillers]
    if len(telling) > 1:
        telling = [same.get(word, word) for word in telling]
    return " ".join(sorted(_GENDER.sub("", word) for word in telling))


@cache
def read_names() -> ColumnNames:
    """Return the known names."""
    document = read_data(NAMES_FILE)
    personal = document["personal"]
    of_values = {
        column: {folded(word): ours for ours, words in of_column.items() for word in (ours, *words)}
        for column, of_column in document["values"].items()
    }
    statuses = {name: of_values["order_status"] | of_values.get(name, {}) for name in OTHER_STATUSES}
    return ColumnNames(
        tables=_sections(document["tables"]),
        prompts=_sections(document["prompts"]),
        references=_sections(document["references"]),
        identities=_ranks(personal["identities"]),
        personal=frozenset(map(folded, [*personal["identities"], *personal["others"]])),
        names_or_codes=frozenset(map(folded, personal["names_or_codes"])),
        beside={folded(name): _known(columns) for name, columns in document["beside"].items()},
        kinds={ours: kind for kind, columns in document["kinds"].items() for ours in columns},
        values=of_values | statuses,
    )


@cache
def _word_lists() -> tuple[frozenset[str], Mapping[str, str]]:
    """Return the words that say nothing, and for words that say the same the one that stands for them."""
    words = read_data(NAMES_FILE)["words"]
    return frozenset(words["fillers"]), {fold(word): fold(one) for one, same in words["same"].items() for word in same}


def _sections(sections: Mapping[str, Any]) -> Mapping[str, Known]:
    return {name: _known(columns, ours_too=True) for name, columns in sections.items()}


def _known(columns: Mapping[str, str | Sequence[str]], *, ours_too: bool = False) -> Known:
    """Return the ranks of names; with `ours_too` our own comes first where it is not listed."""
    listed = {ours: _listed(names) for ours, names in columns.items()}
    return {ours: _ranks([ours, *names] if ours_too and ours not in names else names) for ours, names in listed.items()}


def _listed(names: str | Sequence[str]) -> Sequence[str]:
    """Return the names of a column, or those of the column `table.column` that it shares them with."""
    if not isinstance(names, str):
        return names
    table, column = names.split(".")
    return [column, *_listed(read_data(NAMES_FILE)["tables"][table][column])]


def _ranks(names: Sequence[str]) -> Ranked:
    ranks: dict[str, int] = {}
    for rank, name in enumerate(names):
        ranks.setdefault(folded(name), rank)
    return ranks


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
    """Sentences on how it was read."""

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
    """Return the files that are named, and those of a format that can be read in the folders that are."""
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
    return LookedFile(path, cells, tuple(rows.nested), rows.numbers, rows.notes)


def _in_folder(folder: Path) -> list[Path]:
    # A name that begins with a dot is a program's own.
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in OF_DATA and file.name[0] != ".")
    if not files or len(files) > MOST_FILES:
        raise InputError(
            f"folder {folder} has {len(files) or 'no'} files of {', '.join(OF_DATA)}; give a folder of 1 to "
            f"{MOST_FILES} exports, or name files"
        )
    return files
