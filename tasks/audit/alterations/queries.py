"""Alterations of a query: the same rows in another form, and other rows by one change.

A false query counts only where its rows differ on another store than the reward's copies, so that a reward that cannot
tell the two apart on its copies is at fault; the same query only where they are the same there.
"""
# ruff: noqa: S608 - the queries are answers, and run where they can do no harm

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Final

from tasks.audit.alterations.library import (
    COSTLY,
    EQUAL,
    ERROR_COST,
    NOTHING_EARNED,
    UNSENDABLE,
    WRONG,
    Alteration,
    Bound,
    Change,
    GoodAnswer,
    around,
    from_texts,
)
from tasks.commerce.sql_qa.sandbox import Cell, Database, Row
from tasks.commerce.text.lexicons import read_data

QueryChange = Callable[[str], str | None]
_TERM: Final = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))"
_CLAUSE: Final = re.compile(r" (?=(?:FROM|WHERE|JOIN|GROUP BY|ORDER BY|HAVING|LIMIT)\b)")
_OWN_ORDER: Final = re.compile(r"\bORDER BY\b[^()]*$", re.IGNORECASE)
_TEXTS: Final = re.compile(r"'[^']*'|[^']+")


def bare(good: GoodAnswer) -> str:
    """Return the query without the semicolon at its end."""
    return good.text.rstrip().removesuffix(";")


def around_query(query: str, columns: str = "*") -> str:
    """Return a query around another; on lines of their own, so that a comment hides no bracket."""
    return f"SELECT {columns} FROM (\n{query}\n)"


def _query(change: QueryChange) -> Change:
    return lambda good: change(bare(good))


def _replaced(
    pattern: str, other: str | Mapping[str, str] | Callable[[re.Match[str]], str], count: int = 0
) -> QueryChange:
    """Return the change of what a pattern finds into another text, which a mapping has by the one found, or by ""."""
    compiled = re.compile(pattern)
    new: str | Callable[[re.Match[str]], str] = partial(_mapped, other) if isinstance(other, Mapping) else other
    return lambda sql: compiled.sub(new, sql, count=count)


def _mapped(known: Mapping[str, str], found: re.Match[str]) -> str:
    return known.get(found[0]) or known[""]


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


def _checked(change: QueryChange, *, same: bool) -> Change:
    """Return a change that applies where the query gives the same rows on the witness, or other ones."""

    def changed(good: GoodAnswer) -> str | None:
        other = change(bare(good))
        applies = other is not None and other != bare(good) and _gives_same_rows(good, other) is same
        return other if applies else None

    return changed


def _other_columns(sql: str) -> str | None:
    """Give two columns in the wrong order, under the same places of GROUP BY."""
    found = re.match(rf"SELECT ([^,()]+|strftime\([^)]*\)), ({_TERM}+?) FROM ", sql)
    if not found:
        return None
    rest = re.sub(r"GROUP BY 1\b", f"GROUP BY {found[1]}", sql[found.end() :])
    rest = re.sub(
        r"ORDER BY .*?(?= LIMIT|$)",
        lambda order: re.sub(r"\b[12]\b", lambda place: "2" if place[0] == "1" else "1", order[0]),
        rest,
    )
    return f"SELECT {found[2]}, {found[1]} FROM {rest}"


def _joined_once_more(sql: str) -> str | None:
    table = next((name for name in ("items", "payments") if not re.search(rf"\b{name}\b", sql)), None)
    if table is None or "order_id" not in sql:
        return None
    return re.sub(r"( FROM .*?)(?= WHERE| GROUP| ORDER|$)", rf"\1 JOIN {table} USING (order_id)", sql, count=1)


_BY_CODE: Final[Mapping[str, QueryChange]] = {
    "other month": _replaced(r"(?<='\d{4}-)\d\d(?=')", lambda f: f"{int(f[0]) % 12 + 1:02}"),
    "other number": _replaced(r"(?<=[<>=] )\d+\b", lambda f: f"{int(f[0]) + 1}", 1),
    "one row more": _replaced(r"LIMIT (\d+)", lambda f: f"LIMIT {int(f[1]) + 1}"),
    "columns swapped": _other_columns,
    "joined once more": _joined_once_more,
    "small letters": lambda sql: _TEXTS.sub(lambda f: f[0] if f[0].startswith("'") else f[0].lower(), sql),
    "lines": lambda sql: _TEXTS.sub(lambda f: f[0] if f[0].startswith("'") else _CLAUSE.sub("\n", f[0]), sql),
    "not rounded": lambda sql: None if "ORDER BY" in sql else re.sub(rf"ROUND\(({_TERM}*), 2\)", r"\1", sql),
}


def _changes(section: str) -> Iterator[tuple[str, QueryChange]]:
    """Yield the changes of a section of the data file, by name; those that it only names are written here."""
    for name, given in read_data("audit/alterations.toml")[section].items():
        yield name, _replaced(*given) if given else _BY_CODE[name]


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
    right = good.databases.run(bare(good))[0].rows
    ways = [f"{around_query(bare(good))} ORDER BY 1{way}" for way in ("", " DESC")]
    return next((sql for sql in ways if _shown_rows(good.databases.run(sql)[0].rows) != _shown_rows(right)), None)


def _shown_rows(rows: tuple[Row, ...]) -> list[Row]:
    return [tuple(map(_shown, row)) for row in rows]


def _number_plus(cents: float) -> Change:
    """Return the change that adds so much to the one number of the result."""

    def changed(good: GoodAnswer) -> str | None:
        rows = rows_of(bare(good), good.witness) if good.witness else None
        if not rows or not all(len(row) == 1 and isinstance(row[0], float) for row in rows):
            return None
        return f"WITH q(c1) AS (\n{bare(good)}\n) SELECT c1 + {cents} FROM q"

    return changed


def _as_insult(sql: str) -> str | None:
    other = re.sub(rf"^SELECT ({_TERM}+?) FROM ", r'SELECT \1 AS "chefe burro" FROM ', sql)
    return other if other != sql else None


def _of_sql() -> Iterator[Alteration]:
    says = "Answers another question."
    for name, change in _changes("other_query"):
        yield Alteration(name, says, _checked(change, same=False), COSTLY, judged="most")
    for name, change in _changes("same_query"):
        says = "Gives the same rows by another query."
        yield Alteration(name, says, _checked(change, same=True), Bound("equal", 0.04))
    yield from from_texts("sql_qa")
    some = _checked(lambda _: "SELECT * FROM orders LIMIT 100", same=False)
    yield Alteration("all rows", "Gives rows of orders.", some, UNSENDABLE, judged="most")
    none = _query(lambda sql: f"{around_query(sql)} WHERE 0")
    chatter = around("Claro! Segue a consulta:\n@\n\nEspero ter ajudado!")
    yield Alteration("no row, below chatter", "Is wrong in a good form.", none, Bound("costs", 0.0), chatter)
    for name, says, altered, bound in (
        ("misspelt", "Does not run.", _query(_replaced(" FROM ", " FORM ", 1)), NOTHING_EARNED),
        (
            "unknown table",
            "Reads a table that is not there.",
            _query(_replaced(r" FROM (\w+)", r" FROM \g<1>_2018", 1)),
            NOTHING_EARNED,
        ),
        ("no row", "Gives none of the right rows.", none, WRONG),
        (
            "each row twice",
            "Gives each row twice.",
            _query(lambda sql: f"{around_query(sql, 't.*')} t, (VALUES (1), (2))"),
            COSTLY,
        ),
        (
            "a second query",
            "Is right, with a second query by UNION.",
            _query(lambda sql: f"{around_query(sql)} UNION {around_query(sql)}"),
            Bound("at most", 0.4),
        ),
        ("a column more", "Gives a column too many.", _query(lambda sql: around_query(sql, "*, 1")), ERROR_COST),
        *((f"right on copy {n}", "Is right on one store alone.", _for_copy(n), ERROR_COST) for n in range(3)),
        ("rows in another order", "Has not the order that was asked for.", _other_order, ERROR_COST),
        ("half a cent more", "Is rounded otherwise.", _number_plus(0.0049), EQUAL),
        ("a cent more", "Is a cent off.", _number_plus(0.0072), ERROR_COST),
        ("insult as a name", "Names a column by an insult.", _query(_as_insult), UNSENDABLE),
    ):
        yield Alteration(name, says, altered, bound)


SQL_QA: Final = tuple(_of_sql())
