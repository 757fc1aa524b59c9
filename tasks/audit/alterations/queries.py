"""Alterations of a query: the same rows in another form, and other rows by one change.

A false query counts only where its rows differ on another store than the reward's copies, so that a reward that cannot
tell the two apart on its copies is at fault; the same query only where they are the same there.
"""
# ruff: noqa: S608 - the queries are answers, and run where they can do no harm

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from tasks.audit.alterations import bounds
from tasks.audit.alterations.bounds import Bound
from tasks.audit.alterations.library import (
    Alteration,
    Change,
    GoodAnswer,
    TextChange,
    around,
    from_texts,
    replaced,
    text_changes,
    within,
)
from tasks.commerce.sql_qa.sandbox import Cell, Database, Row

_TERM: Final = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))"
_CLAUSE: Final = re.compile(r" (?=(?:FROM|WHERE|JOIN|GROUP BY|ORDER BY|HAVING|LIMIT)\b)")
_OWN_ORDER: Final = re.compile(r"\bORDER BY\b[^()]*$", re.IGNORECASE)
_TEXTS: Final = re.compile(r"'[^']*'|[^']+")


def bare(good: GoodAnswer) -> str:
    """Return the query without the semicolon at its end."""
    return good.text.rstrip().removesuffix(";")


def around_query(query: str) -> str:
    """Return a query around another; on lines of their own, so that a comment hides no bracket."""
    return f"SELECT * FROM (\n{query}\n)"


def _query(change: TextChange) -> Change:
    return lambda good: change(bare(good))


@lru_cache(maxsize=512)
def rows_of(sql: str, store: Database) -> tuple[Row, ...] | None:
    """Return a query's rows with numbers as a reader sees them, sorted where it does not order; None if it fails."""
    execution = store.execute(sql)
    if execution.refusal is not None:
        return None
    rows = [tuple(map(_shown, row)) for row in execution.rows]
    return tuple(rows if _OWN_ORDER.search(sql) else sorted(rows, key=repr))


def _shown(cell: Cell) -> Cell:
    if isinstance(cell, str) and re.fullmatch(r"-?\d+(?:\.\d+)?", cell):
        cell = float(cell)
    return round(float(cell), 2) if isinstance(cell, int | float) else cell


def _gives_same_rows(good: GoodAnswer, other: str) -> bool | None:
    """Compare with the right rows on the witness; None without one, or where the other does not run."""
    right, found = (rows_of(sql, good.witness) if good.witness else None for sql in (bare(good), other))
    if right is None or found is None:
        return None
    if not _OWN_ORDER.search(bare(good)):
        right, found = (tuple(sorted(rows, key=repr)) for rows in (right, found))
    return right == found


def _checked(change: TextChange, *, same: bool) -> Change:
    """Return a change that applies where the query gives the same rows on the witness, or other ones."""

    def changed(good: GoodAnswer) -> str | None:
        other = change(bare(good))
        applies = other is not None and other != bare(good) and _gives_same_rows(good, other) is same
        return other if applies else None

    return changed


def _joined_once_more(sql: str) -> str | None:
    table = next((name for name in ("items", "payments") if not re.search(rf"\b{name}\b", sql)), None)
    if table is None or "order_id" not in sql:
        return None
    return re.sub(r"( FROM .*?)(?= WHERE| GROUP| ORDER|$)", rf"\1 JOIN {table} USING (order_id)", sql, count=1)


_BY_CODE: Final[Mapping[str, TextChange]] = {
    "other month": replaced(r"(?<='\d{4}-)\d\d(?=')", lambda f: f"{int(f[0]) % 12 + 1:02}"),
    "other number": replaced(r"(?<=[<>=] )\d+\b", lambda f: f"{int(f[0]) + 1}", 1),
    "one row more": replaced(r"LIMIT (\d+)", lambda f: f"LIMIT {int(f[1]) + 1}"),
    "joined once more": _joined_once_more,
    "small letters": lambda sql: _TEXTS.sub(lambda f: f[0] if f[0].startswith("'") else f[0].lower(), sql),
    "lines": lambda sql: _TEXTS.sub(lambda f: f[0] if f[0].startswith("'") else _CLAUSE.sub("\n", f[0]), sql),
    "not rounded": lambda sql: None if "ORDER BY" in sql else re.sub(rf"ROUND\(({_TERM}*), 2\)", r"\1", sql),
}


def _for_copy(place: int) -> Change:
    """Return the change that gives no row where the store has not the sales of one of the reward's copies."""

    def changed(good: GoodAnswer) -> str | None:
        if good.databases is None:
            return None
        sales = "SELECT CAST(SUM(price) AS INTEGER) FROM items"
        ((found,),) = good.databases.run(sales)[place].rows
        return f"{around_query(bare(good))} WHERE ({sales}) = {found!r}"

    return changed


def _other_order(good: GoodAnswer) -> str | None:
    """Return the right rows in another order than the one that is asked for."""
    if good.databases is None or not _OWN_ORDER.search(bare(good)):
        return None
    first = good.databases.copies[0]
    ways = (f"{around_query(bare(good))} ORDER BY 1{way}" for way in ("", " DESC"))
    return next((sql for sql in ways if rows_of(sql, first) != rows_of(bare(good), first)), None)


def _number_plus(cents: float) -> Change:
    """Return the change that adds so much to the one number of the result."""

    def changed(good: GoodAnswer) -> str | None:
        rows = rows_of(bare(good), good.witness) if good.witness else None
        if not rows or not all(len(row) == 1 and isinstance(row[0], float) for row in rows):
            return None
        return f"WITH q(c1) AS (\n{bare(good)}\n) SELECT c1 + {cents} FROM q"

    return changed


_OTHER_ROWS: Final[Mapping[Bound, Mapping[str, Change]]] = {
    bounds.NOTHING_EARNED: {
        "misspelt": _query(replaced(" FROM ", " FORM ", 1)),
        "unknown table": _query(replaced(r" FROM (\w+)", r" FROM \g<1>_2018", 1)),
    },
    bounds.ERROR_COST: {
        **{f"right on copy {number}": _for_copy(number) for number in range(3)},
        "rows in another order": _other_order,
        "a cent more": _number_plus(0.0072),
    },
    bounds.EQUAL: {"half a cent more": _number_plus(0.0049)},
    bounds.UNSENDABLE: {
        "insult as a name": _query(replaced(rf"^SELECT ({_TERM}+?) FROM ", r'SELECT \1 AS "chefe burro" FROM ')),
    },
}


def _of_sql() -> Iterator[Alteration]:
    for section, bound, judged, same in (
        ("other_query", bounds.COSTLY, "most", False),
        ("same_query", Bound("equal", 0.04), "worst", True),
    ):
        changes = text_changes(section, _BY_CODE)
        yield from within(bound, {name: _checked(change, same=same) for name, change in changes}, judged)
    yield from from_texts("sql_qa")
    some = _checked(lambda _: "SELECT * FROM orders LIMIT 100", same=False)
    yield Alteration("all rows", some, bounds.UNSENDABLE, judged="most")
    none, chatter = (
        around("SELECT * FROM (\n@\n) WHERE 0"),
        around("Claro! Segue a consulta:\n@\n\nEspero ter ajudado!"),
    )
    yield Alteration("no row, below chatter", none, Bound("costs", 0.0), chatter)
    for bound, found in _OTHER_ROWS.items():
        yield from within(bound, found)


SQL_QA: Final = tuple(_of_sql())
