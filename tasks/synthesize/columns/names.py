"""Names of columns by which `tucano init` recognises them, of `data/columns/names.toml`."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from schemas.source import REPOSITORY
from schemas.store.column_map import OTHER_STATUSES
from tasks.commerce.text.text_form import fold

NAMES_FILE: Final = REPOSITORY / "data" / "columns" / "names.toml"
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORDS: Final = re.compile(r"[a-z0-9]+|#")
_GENDER: Final = re.compile(r"(?<=[a-z]{3})[ao]\Z")

Ranked = Mapping[str, int]
"""Rank of each name that is known of a column of ours, by the folded name; the lowest wins."""
Known = Mapping[str, Ranked]
"""Names by column of ours."""


@dataclass(frozen=True)
class ColumnNames:
    """All known names, folded."""

    tables: Mapping[str, Known]
    prompts: Mapping[str, Known]
    """Inputs by task; `review` for those that read one."""
    references: Mapping[str, Known]
    identities: Ranked
    """Personal columns that may identify a person."""
    personal: frozenset[str]
    names_or_codes: frozenset[str]
    """Columns that are personal where they hold no codes."""
    files: Mapping[str, str]
    """Table of a file by its name without the ending."""
    short: Mapping[str, Known]
    """By table: names that count only in a file named after it."""
    beside: Mapping[str, Known]
    """By a name: names that count only in a file that has it, too."""
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


def with_more(known: Known, more: Known) -> Known:
    """Return the names of a table's columns with more of them, which come last."""
    return {
        ours: {**{name: len(ranks) + rank for name, rank in more.get(ours, {}).items()}, **ranks}
        for ours, ranks in known.items()
    }


@cache
def read_names() -> ColumnNames:
    """Return the known names."""
    document = _document()
    personal, values = document["personal"], document["values"]
    of_values = {
        column: {folded(word): ours for ours, words in of_column.items() for word in (ours, *words)}
        for column, of_column in values.items()
    }
    statuses = {name: of_values["order_status"] | of_values.get(name, {}) for name in OTHER_STATUSES}
    return ColumnNames(
        tables=_ranked(document["tables"]),
        prompts=_ranked(document["prompts"]),
        references=_ranked(document["references"]),
        identities=_ranks(personal["identities"]),
        personal=frozenset(map(folded, [*personal["identities"], *personal["others"]])),
        names_or_codes=frozenset(map(folded, personal["names_or_codes"])),
        files={folded(name): table for table, names in document["files"].items() for name in (table, *names)},
        short={table: _ranked_alone(columns) for table, columns in document["short"].items()},
        beside={folded(name): _ranked_alone(columns) for name, columns in document["beside"].items()},
        values=of_values | statuses,
    )


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(NAMES_FILE.read_text(encoding="utf-8"))


@cache
def _word_lists() -> tuple[frozenset[str], Mapping[str, str]]:
    """Return the words that say nothing, and for words that say the same the one that stands for them."""
    words = _document()["words"]
    return frozenset(words["fillers"]), {fold(word): fold(one) for one, same in words["same"].items() for word in same}


def _ranked(sections: Mapping[str, Any]) -> Mapping[str, Known]:
    return {
        section: {ours: _ranked_with(ours, names) for ours, names in columns.items()}
        for section, columns in sections.items()
    }


def _ranked_with(ours: str, given: str | Sequence[str]) -> Ranked:
    """Return the ranks of names and of our own, which comes first where it is not listed."""
    names = _listed(given)
    return _ranks(names if ours in names else [ours, *names])


def _ranked_alone(columns: Mapping[str, Sequence[str]]) -> Known:
    return {ours: _ranks(names) for ours, names in columns.items()}


def _listed(names: str | Sequence[str]) -> Sequence[str]:
    """Return the names of a column, or those of the column `table.column` that it shares them with."""
    if not isinstance(names, str):
        return names
    table, column = names.split(".")
    return [column, *_listed(_document()["tables"][table][column])]


def _ranks(names: Sequence[str]) -> Ranked:
    ranks: dict[str, int] = {}
    for rank, name in enumerate(names):
        ranks.setdefault(folded(name), rank)
    return ranks
