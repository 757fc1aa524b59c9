"""Which rows of a prompt table may not enter a dataset, and why."""

from collections import defaultdict
from typing import Final

import polars as pl

SCHEMA: Final = "schema"
TOO_LONG: Final = "too long"
DUPLICATE: Final = "duplicate"
LEAKAGE: Final = "leakage"
REASONS: Final = (SCHEMA, TOO_LONG, DUPLICATE, LEAKAGE)
"""Why a row is dropped, in the order in which the stage looks for it."""


def quarantined(rows: pl.DataFrame, reason: str, details: list[str]) -> pl.DataFrame:
    """Return the rows with the reason for which they are dropped and one sentence each that says more."""
    return rows.with_columns(reason=pl.lit(reason), detail=pl.Series(details, dtype=pl.String))


def drop_schema_failures(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split a table into the rows that fit the schema of prompts and those that do not, each with all its failures."""
    from pandera.errors import SchemaErrors

    from schemas.prompt_table import Prompts

    failures: defaultdict[int, list[str]] = defaultdict(list)
    try:
        Prompts.validate(table, lazy=True)
    except SchemaErrors as error:
        for failure in error.failure_cases.sort("index", "column", "check").to_dicts():
            if failure["index"] is None:
                raise
            # The value stays out of the report: it may be a shopper's words.
            place = "" if failure["column"] == Prompts.__name__ else f"{failure['column']}: "
            failures[failure["index"]].append(f"{place}{failure['check']}")
    broken = sorted(failures)
    details = ["; ".join(failures[index]) for index in broken]
    is_broken = pl.Series([index in failures for index in range(table.height)], dtype=pl.Boolean)
    return table.filter(~is_broken), quarantined(table[broken], SCHEMA, details)


def drop_too_long(table: pl.DataFrame, most_characters: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off the rows whose system text and prompt have together more characters than allowed.

    TRL truncates no prompt itself, so that whatever is longer than the policy's context must not come so far.
    """
    lengths = table["system"].str.len_chars() + table["prompt"].str.len_chars()
    is_long = lengths > most_characters
    details = [f"{length} characters, {most_characters} allowed" for length in lengths.filter(is_long)]
    return table.filter(~is_long), quarantined(table.filter(is_long), TOO_LONG, details)


def drop_duplicates(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off the rows whose task has the same prompt text in an earlier row."""
    first = pl.col("prompt_id").first().over("task", "prompt")
    is_first = pl.int_range(pl.len()).over("task", "prompt") == 0
    marked = table.with_columns(first=first, is_first=is_first)
    duplicates = marked.filter(~pl.col("is_first"))
    details = [f"the same text as {prompt_id}" for prompt_id in duplicates["first"]]
    return table.filter(marked["is_first"]), quarantined(duplicates.select(table.columns), DUPLICATE, details)
