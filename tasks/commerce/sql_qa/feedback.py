"""Feedback on a query that has no result: SQLite's message or that nothing was found, and no value of the store."""

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Final

from tasks.commerce.sql_qa.sandbox import Databases, Refusal
from tasks.commerce.sql_qa.scorer import run_completion
from tasks.commerce.text.wordings import FOLDER

DATA_FILES: Final = ("data/wordings/sql_turns.toml",)
MAX_ERROR: Final = 120
"""Characters of an error that are shown: names in it are the query's own, of any length."""


def feedback(completion: str, databases: Databases) -> str | None:
    """Return what a policy is shown after a completion; None if its query has a result.

    The completion is hostile: it is run in the sandbox, on the first copy of the store.

    Args:
        completion: A policy's answer.
        databases: The store's copies.
    """
    sql, (found, *_) = run_completion(completion, databases)
    if found.refusal is Refusal.INVALID:
        error = " ".join(databases.copies[0].why_invalid(sql).split())[:MAX_ERROR]
        return _texts()["error"].replace("{error}", error)
    if found.refusal is not None:
        return _texts()["refused"]
    if all(cell is None for row in found.rows for cell in row):
        return _texts()["empty"]
    return None


@cache
def _texts() -> Mapping[str, str]:
    return tomllib.loads((FOLDER / "sql_turns.toml").read_text(encoding="utf-8"))
