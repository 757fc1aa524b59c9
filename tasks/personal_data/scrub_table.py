"""Prompt tables without personal data: texts are scrubbed, and identities derived from them renewed."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import polars as pl

from schemas.tables.prompts import canonical_json, content_id
from tasks.personal_data.scrub import Kind, may_hold_personal_data, scrub

TEXTS: Final = ("system", "prompt", "reference")


@dataclass(frozen=True)
class Scrubbed:
    """A prompt table without personal data."""

    table: pl.DataFrame
    replaced: Counter[Kind] = field(default_factory=Counter)
    """Replacements by kind."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Ids of the changed rows: old to new.

    An id is the hash of its content; if kept, it would allow trying all numbers until one matches.
    """


def scrub_prompts(table: pl.DataFrame) -> Scrubbed:
    """Scrub the texts of prompts that fit their schema, including their references' texts.

    Order and columns stay. Prompts that differed in a personal number only have one id now.
    """
    # An escape in JSON may hide a digit or a separator.
    escaped = pl.col("reference").str.contains("\\", literal=True)
    holding = [may_hold_personal_data(column) for column in TEXTS]
    suspects = table.select(pl.any_horizontal(escaped, *holding)).to_series()
    replaced: Counter[Kind] = Counter()
    renamed: dict[str, str] = {}
    changed: dict[str, list[Any]] = {"place": [], "prompt_id": [], **{column: [] for column in TEXTS}}
    for place in suspects.arg_true():
        row = table.row(place, named=True)
        system, prompt = (_scrubbed(row[column], replaced) for column in ("system", "prompt"))
        reference = _without_personal_data(json.loads(row["reference"]), replaced)
        # Always written again: a duplicated key would hide the value that is not read.
        values = (system, prompt, canonical_json(reference))
        if values != (row["system"], row["prompt"], row["reference"]):
            new_id = content_id(row["task"], system, prompt, reference)
            if new_id != row["prompt_id"]:
                renamed[row["prompt_id"]] = new_id
            for column, value in zip(changed, (place, new_id, *values), strict=True):
                changed[column].append(value)
    return Scrubbed(_with_changes(table, changed), replaced, renamed)


def scrub_broken(table: pl.DataFrame) -> Scrubbed:
    """Scrub every text of rows that violate the schema, and their ids where these may reveal something."""
    from schemas.tables.prompt_checks import ids_that_fit

    replaced: Counter[Kind] = Counter()
    names = [name for name, kind in table.schema.items() if kind == pl.String]
    clean = table.with_columns(
        pl.Series(name, [None if value is None else _scrubbed(value, replaced) for value in table[name]], pl.String)
        for name in names
    )
    # An id that does not match the content may be the hash of the content before.
    doubtful = ~ids_that_fit(table)
    for name in names:
        doubtful |= clean[name].ne_missing(table[name])
    changed = doubtful.arg_true().to_list()
    new_ids = [_id_of_texts(clean.select(names).row(place)) for place in changed]
    renamed = {
        old: new for old, new in zip(table["prompt_id"].gather(changed), new_ids, strict=True) if old is not None
    }
    return Scrubbed(clean.with_columns(clean["prompt_id"].scatter(changed, new_ids)), replaced, renamed)


def with_renamed_parents(table: pl.DataFrame, renamed: Mapping[str, str]) -> pl.DataFrame:
    """Return rows whose paraphrases name their prompts by the present ids.

    A scrubbed paraphrase whose parent is missing names none: the parent held the same data, and its hash would reveal
    it. The same holds for one that differed from its parent in personal data only.
    """
    parent = pl.col("parent_id")
    scrubbed, known = pl.Series([*renamed.values()], dtype=pl.String), pl.Series([*renamed], dtype=pl.String)
    lost = pl.col("prompt_id").is_in(scrubbed.implode()) & ~parent.is_in(known.implode())
    named = pl.when(~lost.fill_null(value=False)).then(parent.replace(renamed)).alias("parent_id")
    return table.with_columns(named).with_columns(
        pl.when(parent.ne_missing(pl.col("prompt_id"))).then(parent).alias("parent_id")
    )


def _id_of_texts(texts: tuple[str | None, ...]) -> str:
    return hashlib.sha256(orjson.dumps(texts)).hexdigest()


def _scrubbed(text: str, replaced: Counter[Kind]) -> str:
    clean, counts = scrub(text)
    replaced.update(counts)
    return clean


def _without_personal_data(value: Any, replaced: Counter[Kind]) -> Any:
    if isinstance(value, str):
        return _scrubbed(value, replaced)
    if isinstance(value, int) and not isinstance(value, bool):
        clean = _scrubbed(str(value), replaced)
        return value if clean == str(value) else clean
    if isinstance(value, list):
        return [_without_personal_data(part, replaced) for part in value]
    if isinstance(value, dict):
        return {_scrubbed(key, replaced): _without_personal_data(part, replaced) for key, part in value.items()}
    return value


def _with_changes(table: pl.DataFrame, changed: Mapping[str, list[Any]]) -> pl.DataFrame:
    columns = [column for column in changed if column != "place"]
    return table.with_columns(table[column].scatter(changed["place"], changed[column]) for column in columns)
