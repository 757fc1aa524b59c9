"""Names of columns by which `tucano init` recognises them, of `data/columns/names.toml`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from schemas.store.column_map import OTHER_STATUSES
from tasks.commerce.text.lexicons import read_data
from tasks.commerce.text.text_form import fold

NAMES_FILE: Final = "columns/names.toml"
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORDS: Final = re.compile(r"[a-z0-9]+|#")
_GENDER: Final = re.compile(r"(?<=[a-z]{3})[ao]\Z")
_DOUBLED: Final = re.compile(r" \(\d+\)\Z")  # of the second of two columns of one name

Ranked = Mapping[str, int]
"""Rank of each name that is known of a column of ours, by the folded name; the lowest wins."""
Known = Mapping[str, Ranked]  # Names by column of ours.


@dataclass(frozen=True)
class ColumnNames:
    """All known names, folded."""

    tables: Mapping[str, Known]
    prompts: Mapping[str, Known]
    """Inputs by task; `review` for those that read one."""
    references: Mapping[str, Known]
    short: Mapping[str, Known]
    """By table: names that count only in a file named after it."""
    beside: Mapping[str, Known]
    """By a folded name: names that count only in a file that has it, too."""
    phrases: Known
    """Words, all of which stand in the name of a column of ours among reviews, as in a question of a form."""
    identities: Ranked
    """Personal columns that may identify a person."""
    personal: frozenset[str]
    names_or_codes: frozenset[str]
    """Columns that are personal where they hold no codes."""
    files: Mapping[str, str]
    """Table of a file by its name without the ending."""
    kinds: Mapping[str, str]
    """Kind of the cells by column of ours, or by `*` and an ending."""
    values: Mapping[str, Mapping[str, str]]
    """By column of ours, or `stars`: our value, by the folded one of a file."""


def folded(name: str) -> str:
    """Return a name in the form in which names are compared: `ID do Pedido`, `codPedido` and `order_id` are one."""
    words = _WORDS.findall(fold(_HUMP.sub(" ", _DOUBLED.sub("", name)).replace("º", "").replace("ª", "")))
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


def in_words(columns: Sequence[str]) -> Known:
    """Return the names of a file's columns that have all words of a known phrase."""
    found: dict[str, dict[str, int]] = {}
    for ours, phrases in read_names().phrases.items():
        for phrase, rank in phrases.items():
            names = (name for column in columns if {*phrase.split()} <= {*(name := folded(column)).split()})
            for name in names:
                found.setdefault(ours, {}).setdefault(name, rank)
    return found


@cache
def read_names() -> ColumnNames:
    """Return the known names."""
    document = read_data(NAMES_FILE)
    personal = document["personal"]
    of_values = {
        # A sign, such as an emoji, is none of the known words.
        column: {name: ours for ours, words in of_column.items() for word in (ours, *words) if (name := folded(word))}
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
        files={folded(name): table for table, names in document["files"].items() for name in (table, *names)},
        short={table: _known(columns) for table, columns in document["short"].items()},
        beside={folded(name): _known(columns) for name, columns in document["beside"].items()},
        phrases=_known(document["phrases"]),
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
