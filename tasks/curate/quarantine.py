"""Quarantine of prompt rows that may not enter a dataset, with reasons."""

import json
from collections import defaultdict
from collections.abc import Set as AbstractSet
from typing import Final

import polars as pl

from schemas.json_lines import gives_a_key_twice
from schemas.store.store import Store
from schemas.store.tables import TABLES
from schemas.tables.prompts import COLUMNS, KNOWN_TO_BASE, PROMPTS
from schemas.tables.table_check import broken_rows
from tasks.commerce.sql_qa.sandbox import Database, Refusal
from tasks.curate.kinship import SOURCES
from tasks.personal_data.scrub import personal_identifiers
from tasks.policy.length import PromptLengths

GIVEN_TWICE: Final = "key given twice"
SCHEMA: Final = "schema"
BLANK: Final = "blank"
PERSONAL_ID: Final = "personal id"
SQL_FAILS: Final = "sql fails"
TOO_LONG: Final = "too long"
DUPLICATE: Final = "duplicate"
NEAR_DUPLICATE: Final = "near-duplicate"
HELD_OUT: Final = "held out"
LEAKAGE: Final = "leakage"
NAMED: Final = (*SOURCES, "source")
REASONS: Final = (
    GIVEN_TWICE,
    SCHEMA,
    BLANK,
    PERSONAL_ID,
    SQL_FAILS,
    TOO_LONG,
    DUPLICATE,
    NEAR_DUPLICATE,
    HELD_OUT,
    LEAKAGE,
    KNOWN_TO_BASE,
)
_FAULTS: Final = {
    Refusal.INVALID: "it is no single query that runs on the tables of a store",
    Refusal.FORBIDDEN: "it does more than read, or its result changes from run to run",
    Refusal.TOO_MUCH: "it is too long, or takes too much even without rows",
}
_READABLE: Final = r"[^\s\p{C}\p{Z}\p{M}\x{115f}\x{1160}\x{2800}\x{3164}\x{ffa0}]"
"""A sign that shows: blanks that Unicode counts as letters or symbols are left out."""


def quarantined(rows: pl.DataFrame, reason: str, details: list[str]) -> pl.DataFrame:
    """Return the rows with their reason of exclusion and one explanatory sentence each."""
    return rows.with_columns(reason=pl.lit(reason), detail=pl.Series(details, dtype=pl.String))


def drop_keys_given_twice(table: pl.DataFrame, rows: AbstractSet[int]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off the rows whose JSON gave a key twice: a reader would take one of the values, and drop the other."""
    references = table["reference"]
    doubled = {text for text in references.unique() if text is not None and gives_a_key_twice(text)}
    is_doubled = references.is_in([*doubled]).fill_null(value=False) | table["row"].is_in([*rows])
    dropped = table.filter(is_doubled)
    details = ["its JSON gives a key twice; leave one of them out"] * dropped.height
    return table.filter(~is_doubled), quarantined(dropped, GIVEN_TWICE, details)


def drop_blank(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off the rows whose prompt has nothing to read: white space, signs without width, control characters."""
    is_blank = ~table["prompt"].str.contains(_READABLE)
    dropped = table.filter(is_blank)
    return table.filter(~is_blank), quarantined(dropped, BLANK, ["its prompt has nothing to read"] * dropped.height)


def drop_sql_that_fails(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off the rows whose reference is a query that cannot be run; an unknown one stays."""
    asked = zip(table["task"], table["reference"], strict=True)
    queries = [json.loads(reference)["sql"] if task == "sql_qa" else None for task, reference in asked]
    sql = pl.Series(queries, dtype=pl.String)
    # Tried on empty tables: a query that no store can run teaches nothing.
    database = Database(Store(**{name: table.empty() for name, table in TABLES.items()}))
    tried = {query: database.execute(query).refusal for query in sql.drop_nulls().unique(maintain_order=True)}
    failing = {query: _FAULTS[refusal] for query, refusal in tried.items() if refusal is not None}
    fails = sql.is_in([*failing]).fill_null(value=False)
    dropped = table.filter(fails)
    details = [f"the reference's query fails: {failing[query]}" for query in sql.filter(fails)]
    return table.filter(~fails), quarantined(dropped, SQL_FAILS, details)


def drop_schema_failures(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split a table into the rows that fit the schema of prompts and those that do not, each with all its failures."""
    failures: defaultdict[int, list[str]] = defaultdict(list)
    for fault, rows in broken_rows(table.select(*COLUMNS), PROMPTS):
        for row in rows:
            failures[row].append(fault)
    broken = sorted(failures)
    details = ["; ".join(failures[index]) for index in broken]
    is_broken = pl.Series([index in failures for index in range(table.height)], dtype=pl.Boolean)
    return table.filter(~is_broken), quarantined(table[broken], SCHEMA, details)


def drop_personal_ids(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off the rows whose customer, order, review or source is an e-mail address, a CPF or the like.

    Such an identifier cannot be replaced, because it links rows; it is removed from the dropped row.
    """
    personal = {column: personal_identifiers(table[column]) for column in NAMED}
    is_personal = table.select(pl.any_horizontal(personal.values())).to_series()
    named = [
        f"{', '.join(column for column in NAMED if personal[column][row])} holds personal data; give a pseudonym"
        for row in is_personal.arg_true()
    ]
    nameless = table.with_columns(
        pl.when(~flags).then(pl.col(column)).alias(column) for column, flags in personal.items()
    )
    return table.filter(~is_personal), quarantined(nameless.filter(is_personal), PERSONAL_ID, named)


def find_too_long(table: pl.DataFrame, lengths: PromptLengths, most_tokens: int) -> pl.Series:
    """Return a sentence for each row that exceeds the policy's limit, with system text and chat template.

    TRL truncates no prompt itself, so prompts longer than the policy's context must not reach it. The rows stay in the
    table until the splits are decided: the groups that they link stay the same if the budget changes.
    """
    rows = lengths.too_long(table, most_tokens).arg_true()
    details = [f"{tokens} tokens, {most_tokens} allowed" for tokens in lengths.tokens(table[rows])]
    return pl.Series("too_long", [None] * table.height, pl.String).scatter(rows, details)
