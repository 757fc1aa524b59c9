"""Names of columns by which `tucano init` recognises them, of `data/columns/names.toml`."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, cast

from schemas.source import REPOSITORY
from schemas.store.mapped_tables import OTHER_STATUSES, TableName
from tasks.commerce.text.text_form import fold

FOLDER: Final = REPOSITORY / "data" / "columns"
_FILLERS: Final = frozenset({"de", "do", "da", "dos", "das", "of", "the"})
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORDS: Final = re.compile(r"[a-z0-9]+")

Ranked = Mapping[str, int]
"""Rank of each name that is known of a column of ours, by the folded name; the lowest wins."""


@dataclass(frozen=True)
class ColumnNames:
    """All known names, folded."""

    tables: Mapping[TableName, Mapping[str, Ranked]]
    """By table and column of ours."""
    prompts: Mapping[str, Mapping[str, Ranked]]
    """By task (`review` for those that read one) and input."""
    references: Mapping[str, Mapping[str, Ranked]]
    """By task and field of its reference."""
    identities: Ranked
    """Of personal columns that may identify a person."""
    personal: frozenset[str]
    """Of all columns that are personal whatever is in them."""
    names_or_codes: frozenset[str]
    """Of columns that are personal where they hold no codes."""
    files: Mapping[str, TableName]
    """Table of a file by its name without the ending."""
    short: Mapping[TableName, Mapping[str, Ranked]]
    """By table and column of ours: names that count only in a file named after the table."""
    no_review: frozenset[str]
    """Words of names of columns that hold no review."""
    values: Mapping[str, Mapping[str, str]]
    """By column of ours: our value, by the folded one of a file."""


def folded(name: str) -> str:
    """Return a name in the form in which names are compared: `ID do Pedido`, `id_pedido` and `idPedido` are one."""
    words = _WORDS.findall(fold(_HUMP.sub(" ", name).replace("º", "").replace("ª", "")))
    return " ".join(word for word in words if word not in _FILLERS)


def with_short(known: Mapping[str, Ranked], short: Mapping[str, Ranked]) -> Mapping[str, Ranked]:
    """Return the names of a table's columns with those that count in a file named after it, which come last."""
    return {
        ours: {**{name: len(ranks) + rank for name, rank in short.get(ours, {}).items()}, **ranks}
        for ours, ranks in known.items()
    }


@cache
def read_names() -> ColumnNames:
    """Return the known names."""
    document = tomllib.loads((FOLDER / "names.toml").read_text(encoding="utf-8"))
    listed = document["tables"]
    document["values"] |= dict.fromkeys(OTHER_STATUSES, document["values"]["order_status"])
    return ColumnNames(
        tables=cast("Mapping[TableName, Mapping[str, Ranked]]", _ranked(listed, listed)),
        prompts=_ranked(document["prompts"], listed),
        references=_ranked(document["references"], listed),
        identities=_ranks(document["personal"]["identities"]),
        personal=frozenset(map(folded, [*document["personal"]["identities"], *document["personal"]["others"]])),
        names_or_codes=frozenset(map(folded, document["personal"]["names_or_codes"])),
        files={folded(name): cast("TableName", table) for table, names in document["files"].items() for name in names},
        short={
            cast("TableName", table): {ours: _ranks(words) for ours, words in columns.items()}
            for table, columns in document["short"].items()
        },
        no_review=frozenset(map(folded, document["no_review"]["words"])),
        values={
            column: {folded(word): ours for ours, words in of_column.items() for word in (ours, *words)}
            for column, of_column in document["values"].items()
        },
    )


def _ranked(sections: Mapping[str, Any], tables: Mapping[str, Any]) -> Mapping[str, Mapping[str, Ranked]]:
    return {
        section: {ours: _ranks([ours, *_listed(names, tables)]) for ours, names in columns.items()}
        for section, columns in sections.items()
    }


def _listed(names: str | Sequence[str], tables: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of a column, or those of the column `table.column` that it shares them with."""
    if not isinstance(names, str):
        return names
    table, column = names.split(".")
    return [column, *_listed(tables[table][column], tables)]


def _ranks(names: Sequence[str]) -> Ranked:
    ranks: dict[str, int] = {}
    for rank, name in enumerate(names):
        ranks.setdefault(folded(name), rank)
    return ranks
