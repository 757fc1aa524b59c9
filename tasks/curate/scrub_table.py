"""Prompt tables without personal data: the texts scrubbed, and every identity that rested on them made anew."""

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


def scrub_broken(table: pl.DataFrame) -> tuple[pl.DataFrame, Counter[Kind]]:
    """Scrub the texts of quarantined rows, whatever they are, and say how much was replaced by kind.

    Their ids go where they may be the hash of something personal; `row` still names them.
    """
    replaced: Counter[Kind] = Counter()
    columns = {
        name: [None if value is None else _scrubbed(value, replaced) for value in table[name]]
        for name, kind in table.schema.items()
        if kind == pl.String
    }
    clean = table.with_columns(pl.Series(name, values, pl.String) for name, values in columns.items())
    same = pl.Series([True] * table.height, dtype=pl.Boolean)
    for name in columns:
        same &= clean[name].eq_missing(table[name])
    identity = pl.when(same).then("prompt_id").alias("prompt_id")
    return clean.with_columns(identity), replaced


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
