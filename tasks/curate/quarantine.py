"""Which rows of a prompt table may not enter a dataset, and why."""

from collections import defaultdict
from typing import Final

import polars as pl

from schemas.prompts import COLUMNS
from tasks.curate.kinship import SOURCES
from tasks.curate.scrub import names_a_person
from tasks.policy.length import PromptLengths

SCHEMA: Final = "schema"
PERSONAL_ID: Final = "personal id"
TOO_LONG: Final = "too long"
DUPLICATE: Final = "duplicate"
NEAR_DUPLICATE: Final = "near-duplicate"
HELD_OUT: Final = "held out"
LEAKAGE: Final = "leakage"
REASONS: Final = (SCHEMA, PERSONAL_ID, TOO_LONG, DUPLICATE, NEAR_DUPLICATE, HELD_OUT, LEAKAGE)
"""Why a row is dropped, in the order in which the stage looks for it."""


def quarantined(rows: pl.DataFrame, reason: str, details: list[str]) -> pl.DataFrame:
    """Return the rows with the reason for which they are dropped and one sentence each that says more."""
    return rows.with_columns(reason=pl.lit(reason), detail=pl.Series(details, dtype=pl.String))


def drop_schema_failures(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split a table into the rows that fit the schema of prompts and those that do not, each with all its failures."""
    from pandera.errors import SchemaErrors

    from schemas.prompt_table import Prompts
    from schemas.table_check import fault_text

    failures: defaultdict[int, list[str]] = defaultdict(list)
    try:
        Prompts.validate(table.select(*COLUMNS), lazy=True)
    except SchemaErrors as error:
        for failure in error.failure_cases.sort("index", "column", "check").to_dicts():
            if failure["index"] is None:
                raise
            failures[failure["index"]].append(fault_text(failure["column"], failure["check"], Prompts.__name__))
    broken = sorted(failures)
    details = ["; ".join(failures[index]) for index in broken]
    is_broken = pl.Series([index in failures for index in range(table.height)], dtype=pl.Boolean)
    return table.filter(~is_broken), quarantined(table[broken], SCHEMA, details)


def drop_personal_ids(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off the rows whose customer, order or review is named by an e-mail address, a CPF or the like.

    Such a name cannot be replaced, because it says which rows belong together; it is taken out of the dropped row.
    """
    personal = {column: _personal(table[column]) for column in SOURCES}
    is_personal = table.select(pl.any_horizontal(personal.values())).to_series()
    named = [
        f"{', '.join(column for column in SOURCES if personal[column][row])} holds personal data; give a pseudonym"
        for row in is_personal.arg_true()
    ]
    nameless = table.with_columns(
        pl.when(~flags).then(pl.col(column)).alias(column) for column, flags in personal.items()
    )
    return table.filter(~is_personal), quarantined(nameless.filter(is_personal), PERSONAL_ID, named)


def drop_too_long(table: pl.DataFrame, lengths: PromptLengths, most_tokens: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off the rows that are longer, with system text and chat template, than the policy may be shown.

    TRL truncates no prompt itself, so that whatever is longer than the policy's context must not come so far.
    """
    is_long = lengths.too_long(table, most_tokens)
    long = table.filter(is_long)
    at_most = "" if lengths.exact else "up to "
    details = [f"{at_most}{tokens} tokens, {most_tokens} allowed" for tokens in lengths.tokens(long)]
    return table.filter(~is_long), quarantined(long, TOO_LONG, details)


def _personal(identifiers: pl.Series) -> pl.Series:
    # Most shops name their rows by 32 hexadecimal digits, as Olist does: these need no closer look.
    odd = ~identifiers.str.contains(r"^[0-9a-f]{32}$").fill_null(value=True)
    flags = [bool(is_odd) and names_a_person(name) for name, is_odd in zip(identifiers, odd, strict=True)]
    return pl.Series(identifiers.name, flags, pl.Boolean)
