"""Schema of a question: the tables that its words name, what joins them, and a distractor, in place of all.

No reference is read, so that serving makes the same prompt: a table is named by its Portuguese words
(`table_words.toml`), by a column that no other table has, or by a category's name, which is the products'; a name with
underscores that nothing else explains is taken for a category. The tables named are connected by the shortest joins.
Where no word names a table, the whole schema is shown.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from itertools import combinations
from types import MappingProxyType
from typing import Final

from tasks.commerce.text.lexicons import read_data, read_lexicon, read_wording
from tasks.commerce.text.text_form import fold

DATA_FILES: Final = ("data/lexicons/categories.txt", "data/lexicons/table_words.toml", "data/wordings/sql_qa.toml")
DISTRACTORS: Final = 1
"""Tables that are shown without need: one that is shown is then not always used."""
TOWARDS_ORDERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "items": "orders",
        "payments": "orders",
        "reviews": "orders",
        "customers": "orders",
        "products": "items",
        "sellers": "items",
    }
)
"""The next table on the way of joins to the orders."""
_SCHEMA: Final = re.compile(r"\w+\([\w, ]+\)(?:; \w+\([\w, ]+\))+")
_WORD: Final = re.compile(r"\w+")
_SLUG: Final = re.compile(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b")


def tables_in(text: str) -> dict[str, list[str]]:
    """Return the columns of each name that a text shows with a list in parentheses, in the text's order."""
    return {name: columns.split(", ") for name, columns in re.findall(r"\b(\w+)\(([\w, ]+)\)", text)}


def shown_system(prompt: str) -> str:
    """Return the system prompt with the schema that a prompt's words ask for."""
    system = read_wording("sql_qa").system
    named = needed_tables(prompt)
    if not named:
        return system
    tables = _tables()
    others = sorted(set(tables) - named, key=lambda name: hashlib.sha256(f"{name}\n{prompt}".encode()).digest())
    shown = named.union(others[:DISTRACTORS])
    schema = "; ".join(f"{name}({', '.join(columns)})" for name, columns in tables.items() if name in shown)
    return _SCHEMA.sub(lambda _: schema, system, count=1)


def needed_tables(prompt: str) -> frozenset[str]:
    """Return the tables that a prompt's words name, and those that join them; none if no word names any."""
    text = fold(prompt)
    named = {table for table, pattern in _patterns().items() if pattern.search(text)}
    slugs = _SLUG.findall(text)
    if _categories().intersection(_WORD.findall(text)) or not all(_is_known(slug) for slug in slugs):
        named.add("products")
    return frozenset(named.union(*(_joining(*pair) for pair in combinations(sorted(named), 2))))


def _joining(one: str, other: str) -> set[str]:
    """Return the tables between two, which are all on one way to the orders but for their common part."""
    first, second = _way(one), _way(other)
    common = [table for table in first if table in second]
    return {table for table in (*first, *second) if table not in common} | {common[0]}


def _way(table: str) -> list[str]:
    way = [table]
    while way[-1] in TOWARDS_ORDERS:
        way.append(TOWARDS_ORDERS[way[-1]])
    return way


@cache
def _tables() -> Mapping[str, list[str]]:
    schema = _SCHEMA.search(read_wording("sql_qa").system)
    return tables_in(schema[0] if schema else "")


@cache
def _categories() -> frozenset[str]:
    return frozenset(line.split(" = ")[0] for line in read_lexicon("categories"))


def _is_known(slug: str) -> bool:
    columns = {column for columns in _tables().values() for column in columns}
    return slug in columns or any(pattern.match(slug) for pattern in _patterns().values())


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Return for each table what names it: the beginnings of words, and its own columns."""
    words = read_data("lexicons/table_words.toml")
    held = [column for columns in _tables().values() for column in columns]
    own = {name: [column for column in columns if held.count(column) == 1] for name, columns in _tables().items()}
    return {name: re.compile(rf"\b(?:{'|'.join((*words[name], *own[name]))})") for name in _tables()}
