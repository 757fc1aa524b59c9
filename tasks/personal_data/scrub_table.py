"""Tables without personal data: prompts, whose ids are renewed where their texts change, and stores."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import Any, Final

import orjson
import polars as pl

from schemas.store.store import Store
from schemas.tables.prompts import PromptRow, canonical_json, content_id, ids_that_fit
from tasks.personal_data.scrub import (
    LEAST_PERSONAL,
    Kind,
    may_hold_personal_data,
    personal_identifiers,
    scrub,
    scrub_column,
)

TEXTS: Final = ("system", "prompt", "reference")
PRODUCT: Final = "product_id"
"""The only identity of a store that may be a name: a shop without codes has its products' names here."""
AREA: Final = "_zip_code_prefix"
"""Columns of the first five digits of a postcode, which name an area of thousands of people."""
ROWS_AT_ONCE: Final = 256
Content = tuple[str, str, dict[str, Any]]


@dataclass(frozen=True)
class Scrubbed:
    """A prompt table without personal data."""

    table: pl.DataFrame
    replaced: Counter[Kind] = field(default_factory=Counter)
    renamed: dict[str, str] = field(default_factory=dict)
    """Ids of the changed rows, old to new: an old one is a hash by which one could try all numbers."""


def scrub_prompts(table: pl.DataFrame) -> Scrubbed:
    """Scrub the texts of prompts that fit their schema; those that differed in personal data only have one id now."""
    found = Scrubbed(table)
    changed: dict[str, list[Any]] = {"place": [], "prompt_id": [], **{column: [] for column in TEXTS}}
    for place, content in _changed(table.select(TEXTS), found.replaced):
        row = table.row(place, named=True)
        # Always written again: a duplicated key would hide the value that is not read.
        values = (*content[:2], canonical_json(content[2]))
        if values != (row["system"], row["prompt"], row["reference"]):
            new_id = content_id(row["task"], *content)
            if new_id != row["prompt_id"]:
                found.renamed[row["prompt_id"]] = new_id
            for column, value in zip(changed, (place, new_id, *values), strict=True):
                changed[column].append(value)
    places = changed.pop("place")
    clean = table.with_columns(table[column].scatter(places, values) for column, values in changed.items())
    return replace(found, table=clean)


def scrubbed_rows(rows: Iterable[PromptRow], replaced: Counter[Kind]) -> Iterator[PromptRow]:
    """Yield prompts without personal data, in their order; few are in memory at once."""
    remaining = iter(rows)
    while batch := list(islice(remaining, ROWS_AT_ONCE)):
        texts = [(row.system, row.prompt, canonical_json(row.reference)) for row in batch]
        changed = dict(_changed(pl.DataFrame(texts, dict.fromkeys(TEXTS, pl.String), orient="row"), replaced))
        for place, row in enumerate(batch):
            if place not in changed:
                yield row
                continue
            system, prompt, reference = changed[place]
            identity = content_id(row.task, system, prompt, reference)
            yield replace(row, prompt_id=identity, system=system, prompt=prompt, reference=reference)


def _changed(texts: pl.DataFrame, replaced: Counter[Kind]) -> Iterator[tuple[int, Content]]:
    """Yield the place of each row of `TEXTS` that may hold personal data, and what it says without."""
    suspects = pl.DataFrame([may_hold_personal_data(texts[name]) for name in TEXTS])
    # An escape in JSON may hide a digit or a separator.
    suspects = suspects.with_columns(pl.col("reference") | texts["reference"].str.contains("\\", literal=True))
    for place in suspects.select(pl.any_horizontal(pl.all())).to_series().arg_true():
        system, prompt, reference = texts.row(place)
        parts = zip((system, prompt, json.loads(reference)), suspects.row(place), strict=True)
        system, prompt, known = (_without_personal_data(part, replaced) if flag else part for part, flag in parts)
        yield place, (system, prompt, known)


def scrub_store(store: Store, replaced: Counter[Kind]) -> Store:
    """Return a store without personal data; products that differed in it only are one, and other identities stay."""
    tables = {each.name: getattr(store, each.name) for each in fields(store)}
    clean = {name: _scrubbed_table(table, replaced) for name, table in tables.items() if table is not None}
    clean["products"] = clean["products"].unique(PRODUCT, keep="first", maintain_order=True)
    return replace(store, **clean)


def _scrubbed_table(table: pl.DataFrame, replaced: Counter[Kind]) -> pl.DataFrame:
    texts = [name for name, kind in table.schema.items() if kind == pl.String and not name.endswith("_id")]
    for name in [*texts, *({PRODUCT} & {*table.columns})]:
        values = table[name].drop_nulls().unique(maintain_order=True)
        if name == PRODUCT:
            # A name is a text, in which a telephone goes like in any other.
            values = values.filter(personal_identifiers(values) | values.str.contains(" ", literal=True))
        elif name.endswith(AREA):
            values = values.filter(~values.str.contains(r"^\d{1,5}$"))
        clean = {}
        for text, (scrubbed, counts) in zip(values, scrub_column(values), strict=True):
            if scrubbed != text:
                clean[text] = scrubbed
                replaced.update(counts)
        if clean:
            table = table.with_columns(pl.col(name).replace(clean))
    return table


def scrub_broken(table: pl.DataFrame) -> Scrubbed:
    """Scrub every text of rows that violate the schema, and their ids where these may reveal something."""
    found = Scrubbed(table)
    names = [name for name, kind in table.schema.items() if kind == pl.String]
    clean = table.with_columns(_scrubbed_column(table[name], found.replaced) for name in names)
    # An id that does not match the content may be the hash of the content before.
    doubtful = ~ids_that_fit(table)
    for name in names:
        doubtful |= clean[name].ne_missing(table[name])
    places = doubtful.arg_true().to_list()
    new_ids = [hashlib.sha256(orjson.dumps(clean.select(names).row(place))).hexdigest() for place in places]
    pairs = zip(table["prompt_id"].gather(places), new_ids, strict=True)
    found.renamed.update((old, new) for old, new in pairs if old is not None)
    return replace(found, table=clean.with_columns(clean["prompt_id"].scatter(places, new_ids)))


def _scrubbed_column(values: pl.Series, replaced: Counter[Kind]) -> pl.Series:
    """Scrub each value; of identities only those that are or hold personal data."""
    suspect = personal_identifiers(values) if values.name.endswith("_id") else [True] * len(values)
    marked = zip(values, suspect, strict=True)
    clean = [_scrubbed(value, replaced) if value is not None and flag else value for value, flag in marked]
    return pl.Series(values.name, clean, pl.String)


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


def _scrubbed(text: str, replaced: Counter[Kind]) -> str:
    clean, counts = scrub(text)
    replaced.update(counts)
    return clean


def _without_personal_data(value: Any, replaced: Counter[Kind]) -> Any:
    if isinstance(value, str):
        return _scrubbed(value, replaced)
    if isinstance(value, int) and value >= LEAST_PERSONAL:
        clean = _scrubbed(str(value), replaced)
        return value if clean == str(value) else clean
    if isinstance(value, list):
        return [_without_personal_data(part, replaced) for part in value]
    if isinstance(value, dict):
        # In one order, since two keys may be one afterwards.
        parts = sorted(value.items())
        return {_scrubbed(key, replaced): _without_personal_data(part, replaced) for key, part in parts}
    return value
