"""SQL that is right, written otherwise, or wrong by a slip."""

import re
from collections.abc import Callable
from typing import Final

from tasks.audit.completions.asked import Asked, Completions

_PLAIN: Final = re.compile(r"'[^']*'|[^']+")
_CLAUSE: Final = re.compile(r" (?=(?:FROM|JOIN|WHERE|GROUP BY|ORDER BY|LIMIT)\b)")
_ROUND: Final = re.compile(r"\bROUND\((?P<value>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*), 2\)")
_CONDITION: Final = re.compile(r" WHERE (?!\w+ IS NOT NULL GROUP).*?(?= GROUP|$)")


def same_query(asked: Asked) -> Completions:
    """Return the right query, written in other ways."""
    query = asked.right
    found = {
        "semicolon": f"{query};",
        "space around": f"\n {query} \n\n",
        "many lines": _outside_texts(query, lambda text: _CLAUSE.sub("\n", text)),
        "small letters": _outside_texts(query, str.lower),
        "a query around it": f"SELECT * FROM ({query})",
    }
    if "ORDER BY" not in query:
        # Where rounding makes ties, what is not rounded has another order.
        found["not rounded"] = _ROUND.sub(r"\g<value>", query)
    return found


def wrong_results(asked: Asked) -> Completions:
    """Return queries that read the right rows and give others back."""
    query = asked.right
    return {
        "each row twice": f"SELECT * FROM ({query}) UNION ALL SELECT * FROM ({query})",
        "a column too many": f"SELECT *, 1 FROM ({query})",
    }


def wrong_answer(asked: Asked) -> Completions:
    """Return a query that reads the right rows and gives none of them back."""
    return {"no row": f"SELECT * FROM ({asked.right}) WHERE 0"}


def orders(asked: Asked) -> Completions:
    """Return the right rows sorted by their first column in either way, one of which is not the order asked for."""
    if not re.search(r" ORDER BY [^)]*$", asked.right):
        return {}
    return {
        "first row": f"SELECT * FROM ({asked.right}) LIMIT 1",
        "upwards": f"SELECT * FROM ({asked.right}) ORDER BY 1",
        "downwards": f"SELECT * FROM ({asked.right}) ORDER BY 1 DESC",
    }


def without_condition(asked: Asked) -> Completions:
    """Return the right query without its condition; a question is asked only where this gives another result."""
    weaker = _CONDITION.sub("", asked.right, count=1)
    return {"without its condition": weaker} if weaker != asked.right else {}


def for_stores_of(query: str, comparison: str, orders: int) -> str:
    """Return a query that has its result only on stores of so many orders."""
    return f"SELECT * FROM ({query}) WHERE (SELECT COUNT(*) FROM orders) {comparison} {orders}"


def no_results(asked: Asked) -> Completions:
    """Return what looks like the right query and is none, and constants in its place."""
    query = asked.right
    return {
        "a word misspelt": query.replace(" FROM ", " FORM ", 1),
        "a table that is not there": re.sub(r" FROM (\w+)", r" FROM \g<1>_2018", query, count=1),
        "0": "SELECT 0",
        "null": "SELECT NULL",
        "42": "SELECT 42",
    }


def writes(asked: Asked) -> Completions:
    """Return the right query behind a statement that would change the store."""
    return {
        "DELETE first": f"DELETE FROM orders;\n{asked.right}",
        "DROP first": f"DROP TABLE reviews; {asked.right}",
        "UPDATE first": f"UPDATE items SET price = 0;\n\n{asked.right}",
    }


def wrapped(asked: Asked) -> Completions:
    """Return the right query inside what models put around an answer."""
    return {"chatter": f"Claro! Segue a resposta:\n{asked.right}\nEspero ter ajudado!"}


def _outside_texts(query: str, change: Callable[[str], str]) -> str:
    return _PLAIN.sub(lambda match: match[0] if match[0].startswith("'") else change(match[0]), query)
