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
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORDS: Final = re.compile(r"[a-z0-9]+|#")
_GENDER: Final = re.compile(r"(?<=[a-z]{3})[ao]\Z")

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
    values: Mapping[str, Mapping[str, str]]
    """By column of ours: our value, by the folded one of a file."""


def folded(name: str) -> str:
    """Return a name in the form in which names are compared: `ID do Pedido`, `codPedido` and `order_id` are one."""
    words = _WORDS.findall(fold(_HUMP.sub(" ", name).replace("º", "").replace("ª", "")))
    fillers, same = _word_lists()
    telling = [word for word in words if word not in fillers]
    if len(telling) > 1:
        telling = [same.get(word, word) for word in telling]
    return " ".join(sorted(_GENDER.sub("", word) for word in telling))


def with_short(known: Mapping[str, Ranked], short: Mapping[str, Ranked]) -> Mapping[str, Ranked]:
    """Return the names of a table's columns with those that count in a file named after it, which come last."""
    return {
        ours: {**{name: len(ranks) + rank for name, rank in short.get(ours, {}).items()}, **ranks}
        for ours, ranks in known.items()
    }


@cache
def read_names() -> ColumnNames:
    """Return the known names."""
    document = _document()
    listed = document["tables"]
    values = {
        column: {folded(word): ours for ours, words in of_column.items() for word in (ours, *words)}
        for column, of_column in document["values"].items()
    }
    return ColumnNames(
        tables=cast("Mapping[TableName, Mapping[str, Ranked]]", _ranked(listed, listed)),
        prompts=_ranked(document["prompts"], listed),
        references=_ranked(document["references"], listed),
        identities=_ranks(document["personal"]["identities"]),
        personal=frozenset(map(folded, [*document["personal"]["identities"], *document["personal"]["others"]])),
        names_or_codes=frozenset(map(folded, document["personal"]["names_or_codes"])),
        files={
            folded(name): cast("TableName", table)
            for table, names in document["files"].items()
            for name in (table, *names)
        },
        short={
            cast("TableName", table): {ours: _ranks(words) for ours, words in columns.items()}
            for table, columns in document["short"].items()
        },
        values=values | {name: values["order_status"] | values.get(name, {}) for name in OTHER_STATUSES},
    )


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads((FOLDER / "names.toml").read_text(encoding="utf-8"))


@cache
def _word_lists() -> tuple[frozenset[str], Mapping[str, str]]:
    """Return the words that say nothing, and for words that say the same the one that stands for them."""
    words = _document()["words"]
    return frozenset(words["fillers"]), {fold(word): fold(one) for one, same in words["same"].items() for word in same}


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
