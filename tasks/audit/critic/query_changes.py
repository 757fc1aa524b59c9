"""Changes of one query, as text: other conditions, sums and orders, and the same query in another form."""

import random
import re
from collections.abc import Callable, Mapping
from typing import Final

QueryChange = Callable[[str, random.Random], str | None]
"""Returns the other query; None, or the query itself, where the change does not apply."""

TABLES: Final[Mapping[str, frozenset[str]]] = {
    "orders": frozenset(("order_id", "customer_id")),
    "items": frozenset(("order_id", "product_id", "seller_id")),
    "payments": frozenset(("order_id",)),
    "reviews": frozenset(("order_id",)),
    "customers": frozenset(("customer_id",)),
    "products": frozenset(("product_id",)),
    "sellers": frozenset(("seller_id",)),
}
"""The tables with the columns that they are joined by."""
_STATES: Final = ("SP", "RJ", "MG", "RS", "PR", "BA")
_KEYWORDS: Final = re.compile(
    r"\b(?:SELECT|FROM|WHERE|JOIN|USING|GROUP BY|ORDER BY|HAVING|LIMIT|AND|AS|DESC|BETWEEN|IS NOT NULL|IS NULL|COUNT"
    r"|SUM|AVG|ROUND|MIN|MAX|DISTINCT|OVER|PARTITION BY|WITH|CASE|WHEN|THEN|ELSE|END|IN|NOT|OR|ON)\b"
)
_CLAUSE: Final = re.compile(r" (?=(?:FROM|WHERE|JOIN|GROUP BY|ORDER BY|HAVING|LIMIT)\b)")
_JOINED: Final = re.compile(r"\b(FROM|JOIN) (\w+)(?: USING \((\w+)\))?")
_DATE: Final = r"strftime\('%Y', order_purchase_timestamp\) = '(\d{4})'"


def replaced(pattern: str, other: str | Callable[[re.Match[str]], str], *, count: int = 0) -> QueryChange:
    """Return a change that replaces what a pattern finds."""
    compiled = re.compile(pattern)
    return lambda sql, generator: compiled.sub(other, sql, count=count)  # noqa: ARG005 - every change's signature


def exchanged(one: str, other: str) -> QueryChange:
    """Return a change that exchanges two names."""
    pairs = {one: other, other: one}
    return replaced(rf"\b(?:{re.escape(one)}|{re.escape(other)})\b", lambda found: pairs[found[0]])


def other_state(sql: str, generator: random.Random) -> str:
    """Ask about another state."""
    return re.sub(
        r"(_state = )'(\w\w)'",
        lambda found: f"{found[1]}'{generator.choice([state for state in _STATES if state != found[2]])}'",
        sql,
        count=1,
    )


def other_number(sql: str, generator: random.Random) -> str:
    """Compare with another number."""
    step = generator.choice((1, 2, 3))
    return re.sub(r"([<>=] |BETWEEN )(\d+)\b", lambda found: f"{found[1]}{int(found[2]) + step}", sql, count=1)


def other_year(sql: str, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Ask about the year before or after."""
    return re.sub(r"'(201[678])(?=['-])", lambda found: f"'{2017 if found[1] != '2017' else 2018}", sql)


def other_month(sql: str, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Ask about the month after."""
    return re.sub(r"'(\d{4})-(\d\d)'", lambda found: f"'{found[1]}-{int(found[2]) % 12 + 1:02}'", sql)


def swapped_columns(sql: str, generator: random.Random) -> str | None:  # noqa: ARG001 - every change's signature
    """Give two columns in the wrong order, under the same places of GROUP BY."""
    found = re.match(r"SELECT ([^,()]+|strftime\([^)]*\)), ((?:[^()]|\([^()]*(?:\([^()]*\)[^()]*)*\))+?) FROM ", sql)
    if not found:
        return None
    grouped = re.sub(r"GROUP BY 1\b", f"GROUP BY {found[1]}", sql[found.end() :])
    ordered = re.sub(r"ORDER BY (.*?)(?= LIMIT|$)", lambda order: _other_places(order[0]), grouped)
    return f"SELECT {found[2]}, {found[1]} FROM {ordered}"  # noqa: S608 - only the sandbox runs it


def _other_places(order: str) -> str:
    return re.sub(r"\b[12]\b", lambda place: "2" if place[0] == "1" else "1", order)


def column_missing(sql: str, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Leave out the column by which the rows are grouped."""
    return re.sub(
        r"^SELECT ([^,()]+), (.*) GROUP BY 1\b(?: ORDER BY 2( DESC)?, 1)?",
        lambda found: f"SELECT {found[2]} GROUP BY {found[1]}" + (f" ORDER BY 1{found[3]}" if found[3] else ""),
        sql,
    )


def joined_once_more(sql: str, generator: random.Random) -> str | None:  # noqa: ARG001 - every change's signature
    """Multiply the rows by a table that the question does not need."""
    for table in ("items", "payments"):
        if "order_id" in sql and not re.search(rf"\b{table}\b", sql):
            return re.sub(r"( FROM .*?)(?= WHERE| GROUP| ORDER|$)", rf"\1 JOIN {table} USING (order_id)", sql, count=1)
    return None


def joined_on(sql: str, generator: random.Random) -> str | None:  # noqa: ARG001 - every change's signature
    """Write `ON a.x = b.x` for `USING (x)`; None where a key is also read."""
    if sql.count("SELECT") > 1:
        return None
    before: list[str] = []

    def on(found: re.Match[str]) -> str:
        table, key = found[2], found[3]
        owner = next((other for other in before if key in TABLES.get(other, ())), None)
        before.append(table)
        return found[0] if not key or owner is None else f"{found[1]} {table} ON {owner}.{key} = {table}.{key}"

    return _JOINED.sub(on, sql)


def with_lines(sql: str, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Write each clause on a line."""
    return _CLAUSE.sub("\n", sql)


def in_small_letters(sql: str, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Write the keywords in small letters."""
    return _KEYWORDS.sub(lambda found: found[0].lower(), sql)


def conditions_turned(sql: str, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Write the two conditions in the other order."""
    return re.sub(
        r"WHERE (?!.*BETWEEN)(.+?) AND ((?:(?! AND ).)+?)(?= GROUP| ORDER| LIMIT|$)",
        r"WHERE \2 AND \1",
        sql,
        count=1,
    )


def averaged_by_hand(sql: str, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Divide a sum by a count."""
    return re.sub(r"\bAVG\((\w+)\)", r"1.0 * SUM(\1) / COUNT(\1)", sql)


def within_dates(sql: str, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Compare with the first days of two years."""
    return re.sub(
        _DATE,
        lambda found: (
            f"order_purchase_timestamp >= '{found[1]}-01-01' AND order_purchase_timestamp < '{int(found[1]) + 1}-01-01'"
        ),
        sql,
    )


def in_a_table_of_its_own(sql: str, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Name the query by WITH, and read all of it."""
    return f"WITH resposta AS ({sql}) SELECT * FROM resposta"  # noqa: S608 - only the sandbox runs it


def in_a_subquery(sql: str, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Read all of the query as a subquery."""
    return f"SELECT * FROM ({sql})"  # noqa: S608 - only the sandbox runs it
