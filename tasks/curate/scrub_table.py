"""Prompt tables without personal data: the texts scrubbed, and every identity that rested on them made anew."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import polars as pl

from schemas.prompts import canonical_json, content_id
from tasks.curate.scrub import Kind, may_hold_personal_data, scrub

TEXTS: Final = ("system", "prompt", "reference")


@dataclass(frozen=True)
class Scrubbed:
    """A prompt table without personal data."""

    table: pl.DataFrame
    replaced: Counter[Kind] = field(default_factory=Counter)
    """Replacements by kind."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """The ids of the rows that changed: what each was, and what it is.

    An id is the hash of its content; kept, it would let anyone try all numbers until one gives it.
    """


def scrub_prompts(table: pl.DataFrame) -> Scrubbed:
    """Scrub the texts of prompts that fit their schema, their references' texts included.

    Their order and their columns stay. Where two prompts differed in a personal number only, they have one id now.
    """
    suspects = table.select(pl.any_horizontal(may_hold_personal_data(column) for column in TEXTS)).to_series()
    replaced: Counter[Kind] = Counter()
    renamed: dict[str, str] = {}
    changed: dict[str, list[Any]] = {"place": [], "prompt_id": [], **{column: [] for column in TEXTS}}
    for place in suspects.arg_true():
        row = table.row(place, named=True)
        system, prompt = (_scrubbed(row[column], replaced) for column in ("system", "prompt"))
        known = orjson.loads(row["reference"])
        reference = _without_personal_data(known, replaced)
        if (system, prompt, reference) != (row["system"], row["prompt"], known):
            new_id = content_id(row["task"], system, prompt, reference)
            renamed[row["prompt_id"]] = new_id
            values = (place, new_id, system, prompt, canonical_json(reference))
            for column, value in zip(changed, values, strict=True):
                changed[column].append(value)
    return Scrubbed(_with_changes(table, changed), replaced, renamed)


def scrub_broken(table: pl.DataFrame) -> Scrubbed:
    """Scrub every text of rows that break the schema, whatever it is."""
    replaced: Counter[Kind] = Counter()
    names = [name for name, kind in table.schema.items() if kind == pl.String]
    clean = table.with_columns(
        pl.Series(name, [None if value is None else _scrubbed(value, replaced) for value in table[name]], pl.String)
        for name in names
    )
    changed = [
        place
        for place, (before, after) in enumerate(
            zip(table.select(names).rows(), clean.select(names).rows(), strict=True)
        )
        if before != after
    ]
    new_ids = [_id_of_texts(clean.select(names).row(place)) for place in changed]
    renamed = {
        old: new for old, new in zip(table["prompt_id"].gather(changed), new_ids, strict=True) if old is not None
    }
    return Scrubbed(clean.with_columns(clean["prompt_id"].scatter(changed, new_ids)), replaced, renamed)


def with_renamed_parents(table: pl.DataFrame, renamed: Mapping[str, str]) -> pl.DataFrame:
    """Return rows that name paraphrased prompts by the ids which these have now."""
    return table.with_columns(pl.col("parent_id").replace(renamed))


def _id_of_texts(texts: tuple[str | None, ...]) -> str:
    return hashlib.sha256(orjson.dumps(texts)).hexdigest()


def _scrubbed(text: str, replaced: Counter[Kind]) -> str:
    clean, counts = scrub(text)
    replaced.update(counts)
    return clean


def _without_personal_data(value: Any, replaced: Counter[Kind]) -> Any:
    if isinstance(value, str):
        return _scrubbed(value, replaced)
    if isinstance(value, list):
        return [_without_personal_data(part, replaced) for part in value]
    if isinstance(value, dict):
        return {_scrubbed(key, replaced): _without_personal_data(part, replaced) for key, part in value.items()}
    return value


def _with_changes(table: pl.DataFrame, changed: Mapping[str, list[Any]]) -> pl.DataFrame:
    columns = [column for column in changed if column != "place"]
    return table.with_columns(table[column].scatter(changed["place"], changed[column]) for column in columns)
