"""SQL queries: right, equivalent, and wrong by one error."""
# ruff: noqa: S608 - the queries are answers, and run where they can do no harm

import re
from collections.abc import Callable
from typing import Final

from tasks.audit.completions.asked import Asked, Completions

_PLAIN: Final = re.compile(r"'[^']*'|[^']+")
_CLAUSE: Final = re.compile(r" (?=(?:FROM|JOIN|WHERE|GROUP BY|ORDER BY|LIMIT)\b)")
_ROUND: Final = re.compile(r"\bROUND\((?P<value>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*), 2\)")
_CONDITION: Final = re.compile(r" WHERE (?!\w+ IS NOT NULL GROUP).*?(?= GROUP|$)")
_ORDERED: Final = re.compile(r"\bORDER BY [^)]*$")


def same_query(asked: Asked) -> Completions:
    """Return the right query, written differently."""
    query = _bare(asked)
    found = {
        "semicolon": f"{query};",
        "space around": f"\n {query} \n\n",
        "many lines": _outside_texts(query, lambda text: _CLAUSE.sub("\n", text)),
        "small letters": _outside_texts(query, str.lower),
        "a query around it": _around(query),
    }
    if "ORDER BY" not in query:
        # If rounding makes ties, the unrounded values have another order.
        found["not rounded"] = _ROUND.sub(r"\g<value>", query)
    return found


def wrong_results(asked: Asked) -> Completions:
    """Return queries that read the right rows and return others."""
    query = _bare(asked)
    return {
        "each row twice": f"{_around(query)} UNION ALL {_around(query)}",
        "a column too many": _around(query, "*, 1"),
    }


def wrong_answer(asked: Asked) -> Completions:
    """Return a query that reads the right rows and returns none of them."""
    return {"no row": f"{_around(_bare(asked))} WHERE 0"}


def first_row(asked: Asked) -> str:
    """Return a query for the first of the right rows alone."""
    return f"{_around(_bare(asked))} LIMIT 1"


def sorted_both_ways(asked: Asked) -> Completions:
    """Return the right rows sorted by their first column both ways, if the question asks for an order.

    With several rows, at least one of the two is a wrong order.
    """
    if not _ORDERED.search(asked.right):
        return {}
    return {
        "upwards": f"{_around(_bare(asked))} ORDER BY 1",
        "downwards": f"{_around(_bare(asked))} ORDER BY 1 DESC",
    }


def without_condition(asked: Asked) -> Completions:
    """Return the right query without its condition; used only if that changes the result."""
    weaker = _CONDITION.sub("", _bare(asked), count=1)
    return {"without its condition": weaker} if weaker != _bare(asked) else {}


def for_stores_of(asked: Asked, comparison: str, sales: int) -> str:
    """Return a query that is right only on stores with such sales in whole reais: `>=` 300, or `=` 300."""
    return f"{_around(_bare(asked))} WHERE (SELECT CAST(SUM(price) AS INTEGER) FROM items) {comparison} {sales}"


def no_results(asked: Asked) -> Completions:
    """Return invalid lookalikes of the right query, and constants in its place."""
    query = _bare(asked)
    return {
        "a word misspelt": query.replace(" FROM ", " FORM ", 1),
        "a table that is not there": re.sub(r" FROM (\w+)", r" FROM \g<1>_2018", query, count=1),
        "0": "SELECT 0",
        "null": "SELECT NULL",
        "42": "SELECT 42",
    }


def writes(asked: Asked) -> Completions:
    """Return the right query after a statement that would change the store."""
    return {
        "DELETE first": f"DELETE FROM orders;\n{asked.right}",
        "DROP first": f"DROP TABLE reviews; {asked.right}",
        "UPDATE first": f"UPDATE items SET price = 0;\n\n{asked.right}",
    }


def _bare(asked: Asked) -> str:
    return asked.right.rstrip().removesuffix(";")


def _around(query: str, columns: str = "*") -> str:
    # On separate lines, so that a trailing comment does not hide the bracket.
    return f"SELECT {columns} FROM (\n{query}\n)"


def _outside_texts(query: str, change: Callable[[str], str]) -> str:
    return _PLAIN.sub(lambda match: match[0] if match[0].startswith("'") else change(match[0]), query)
