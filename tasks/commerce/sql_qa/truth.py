"""Ground truth of SQL: the answer's rows are the reference's, on every copy of the store.

The whole completion is run, out of one code fence at most: it must be one query. Unseen: a query that differs from the
right one only on rows that no copy has, names of columns, comments and what stands in them, and how long it takes
within the sandbox's budget.
"""

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from schemas.documents import Rollout
from schemas.errors import InputError
from tasks.commerce.sql_qa.sandbox import Cell, Databases, Execution, Row

HALF_A_CENT: Final = 0.005 + 1e-6  # An unrounded value equals the rounded one.
MAX_CHARACTERS: Final = 4_000

_FENCE: Final = re.compile(r"```[a-z]{0,10}[ \t]*\n([^`]*)```", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,9})?")
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"|--[^\n]*")
_INNERMOST: Final = re.compile(r"\([^()]*\)")
_ORDERED: Final = re.compile(r"\border\s+by\b", re.IGNORECASE)


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:
    """Return the execution accuracy: the share of queries whose rows are the reference's on every copy.

    Rows are compared as multisets, and in their order where the reference orders them; columns in their order. Numbers
    are equal within half a cent, and a text that is a number is one. InputError where there are no databases, or a
    reference does not run.
    """
    asked = [(each.completion, (each.reference or {}).get("sql")) for each in rollouts]
    right = [is_right(completion, sql, databases) for completion, sql in asked if sql is not None]
    return {"execution_accuracy": sum(right) / len(right)} if right else {}


def is_right(completion: str, sql: str, databases: Databases | None) -> bool:
    """Return whether a completion is a query that gives the reference query's rows on every copy."""
    if databases is None:
        raise InputError("sql_qa's ground truth runs the queries, and no store was given; give the store's folder")
    wanted = databases.run_reference(sql)
    for execution in wanted:
        if execution.refusal is not None:
            raise InputError(f"the reference query {sql!r} does not run ({execution.refusal.value}); correct it")
    query = query_of(completion)
    if not query:
        return False
    found = databases.run(query)
    ordered = is_ordered(sql)
    return all(same_rows(one, other, ordered=ordered) for one, other in zip(found, wanted, strict=True))


def query_of(completion: str) -> str:
    """Return a completion without the one code fence that may be around all of it; empty if it is too long."""
    text = completion.strip()
    if len(text) > MAX_CHARACTERS:
        return ""
    fenced = _FENCE.fullmatch(text)
    return (fenced[1] if fenced else text).strip()


@lru_cache(maxsize=8_192)
def is_ordered(sql: str) -> bool:
    """Return whether a query orders its own rows, not only those of an inner query."""
    outside, inside = _INNERMOST.subn(" ", _QUOTED.sub(" ", sql))
    while inside:
        outside, inside = _INNERMOST.subn(" ", outside)
    return bool(_ORDERED.search(outside))


def same_rows(found: Execution, wanted: Execution, *, ordered: bool) -> bool:
    """Return whether two results have the same rows, the order counting where asked."""
    if found.refusal is not None or found.columns != wanted.columns or len(found.rows) != len(wanted.rows):
        return False
    if found.rows == wanted.rows:
        return True
    mine, other = [tuple(map(_plain, row)) for row in found.rows], [tuple(map(_plain, row)) for row in wanted.rows]
    if ordered:
        return all(map(_same, mine, other))
    # Each row takes one that it equals: a rounded number is one cent off at most, so it hardly matters which.
    left = sorted(other, key=_key)
    for row in sorted(mine, key=_key):
        place = next((place for place, each in enumerate(left) if _same(row, each)), None)
        if place is None:
            return False
        del left[place]
    return True


def _plain(cell: Cell) -> Cell:
    return float(cell) if isinstance(cell, str) and _NUMBER.fullmatch(cell) else cell


def _same(one: Row, other: Row) -> bool:
    return all(map(_same_cell, one, other))


def _same_cell(one: Cell, other: Cell) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=HALF_A_CENT)
    return one == other


def _key(row: Row) -> tuple[tuple[str, str, float], ...]:
    return tuple(
        ("number", "", float(cell)) if isinstance(cell, int | float) else (type(cell).__name__, str(cell), 0.0)
        for cell in row
    )
