"""Grammar of a query: one SELECT over the tables and columns that the prompt names, and the sandbox's functions.

It is written as the references are: keywords in capitals, one space or line end between clauses, no comments. Names
that a query gives consist of the words that its reader knows (`query_names.txt`, `query_words.txt`); only where it
reads from an inner query may they stand for a column, so that no other is invented. WITH is left out, as an inner query
says the same. That a column is in a table that the query reads, and that a function has as many arguments as it takes,
no such grammar says: SQLite still does.
"""

import re
from collections.abc import Iterable
from typing import Final

from tasks.commerce.sql_qa.sandbox import FUNCTIONS, TABLES
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold

DATA_FILES: Final = (
    "data/lexicons/query_names.txt",
    "data/lexicons/query_words.txt",
    "data/lexicons/sql_keywords.txt",
)
SHORTEST_WORD: Final = 3
_AGGREGATES: Final = frozenset(("avg", "count", "max", "min", "sum", "total"))
_OF_WINDOWS: Final = frozenset(("cume_dist", "dense_rank", "percent_rank", "rank", "row_number"))
_OF_NEIGHBOURS: Final = frozenset(("first_value", "lag", "last_value", "lead", "nth_value", "ntile"))
_TABLE: Final = re.compile(r"\b(\w+)\(([\w, ]+)\)")

# A lexeme is read greedily and never given back: none may be the beginning of two that follow each other.
_QUERY: Final = r"""
start: query ";"?
query: select (SET select)* (ORDER_BY ordered_n (", " ordered_n)*)? (LIMIT COUNT (" OFFSET " COUNT)?)?
select: plain | nested
plain: "SELECT " "DISTINCT "? item (", " item)* FROM stored (JOIN stored match)* tail
nested: "SELECT " "DISTINCT "? item_n (", " item_n)* FROM nested_sources tail_n
nested_sources: (inner | stored (JOIN stored match)* JOIN inner match_n) (JOIN (stored | inner) match_n)*
stored: TABLE AS_ALIAS?
inner: "(" query ")" (AS_ALIAS | AS_NAME)?
FROM: /[ \n]FROM /
JOIN: /[ \n](LEFT |INNER )?JOIN /
WHERE: /[ \n]WHERE /
GROUP_BY: /[ \n]GROUP BY /
HAVING: /[ \n]HAVING /
ORDER_BY: /[ \n]ORDER BY /
LIMIT: /[ \n]LIMIT /
SET: /[ \n](UNION|UNION ALL|EXCEPT|INTERSECT)[ \n]/
COUNT: /[1-9][0-9]{0,3}/
NUMBER: /[0-9]{1,7}(\.[0-9]{1,2})?/
TEXT: /'[A-Za-zÀ-ÖØ-öø-ÿ0-9_%.:\/ -]{0,60}'/
ALIAS: /[a-z][0-9]?/
AS_ALIAS: /( AS)? [a-z][0-9]?/
COMPARES: / (=|<>|!=|<|<=|>|>=) /
SIGN: / (\+|-|\*|\/|\|\|) /
TYPE: "INTEGER" | "REAL" | "TEXT"
"""
_PARTS: Final = r"""
item{n}: "*" | (value{n} | test{n}) (" AS " (NAME | ALIAS))?
match{n}: " USING (" COLUMN ")" | " ON " column{n} " = " column{n}
tail{n}: (WHERE condition{n})? (GROUP_BY value_n (", " value_n)* (HAVING condition_n)?)?
ordered{n}: value{n} (" ASC" | " DESC")?
condition{n}: test{n} ((" AND " | " OR ") test{n})*
test{n}: "NOT "? check{n}
check{n}: value{n} COMPARES value{n}
  | value{n} " NOT"? " BETWEEN " value{n} " AND " value{n}
  | value{n} " NOT"? " IN (" (value{n} (", " value{n})* | query) ")"
  | value{n} (" IS NULL" | " IS NOT NULL")
  | value{n} " NOT"? " LIKE " TEXT
  | "EXISTS (" query ")"
  | "(" condition{n} ")"
value{n}: term{n} (SIGN term{n})*
term{n}: column{n} | "-"? NUMBER | TEXT | "(" value{n} ")" | "(" query ")"
  | (AGGREGATE "(" "DISTINCT "? argument{n} ")" | "COUNT" "(*)") over{n}?
  | OF_WINDOW "()" over{n} | OF_NEIGHBOUR "(" argument{n} (", " NUMBER)? ")" over{n}
  | FUNCTION "(" argument{n} (", " argument{n}){0,3} ")"
  | "CAST(" value{n} " AS " TYPE ")"
  | "CASE" (" WHEN " condition{n} " THEN " value{n})+ (" ELSE " value{n})? " END"
argument{n}: value{n} | test{n}
over{n}: " OVER (" ("PARTITION BY " value{n} (", " value{n})*)? ")"
  | " OVER (" ("PARTITION BY " value{n} (", " value{n})* " ")? "ORDER BY " ordered{n} (", " ordered{n})* rows? ")"
"""


def sql_grammar(system: str) -> str:
    """Return the grammar of a query on the tables and columns that a system prompt names.

    Args:
        system: Names each table with its columns, as in `reviews(order_id, review_score)`.
    """
    tables = {name: columns.split(", ") for name, columns in _TABLE.findall(system) if name in TABLES}
    columns = {column for named in tables.values() for column in named}
    keywords = set(read_lexicon("sql_keywords"))
    words = {fold(word) for word in (*read_lexicon("query_names"), *read_lexicon("query_words"))}
    known = {word for word in words if len(word) >= SHORTEST_WORD and word not in keywords and word.isalpha()}
    name = f"{_any(known)}(_{_any(known)}){{0,2}}"
    functions = FUNCTIONS - _AGGREGATES - _OF_WINDOWS - _OF_NEIGHBOURS
    return "\n".join(
        (
            _QUERY + _PARTS.replace("{n}", "") + _PARTS.replace("{n}", "_n"),
            'column: ((TABLE | ALIAS) ".")? COLUMN',
            'column_n: ((TABLE | ALIAS | NAME) ".")? (COLUMN | NAME | ALIAS)',
            f"TABLE: /{_any(tables)}/",
            f"COLUMN: /{_any(columns)}/",
            'rows: " ROWS " (COUNT | "UNBOUNDED") " PRECEDING"',
            f"NAME: /{name}/",
            f"AS_NAME: /( AS)? {name}/",
            f"AGGREGATE: /{_in_any_case(_AGGREGATES)}/",
            f"OF_WINDOW: /{_in_any_case(_OF_WINDOWS)}/",
            f"OF_NEIGHBOUR: /{_in_any_case(_OF_NEIGHBOURS)}/",
            f"FUNCTION: /{_in_any_case(functions)}/",
        )
    )


def _any(names: Iterable[str]) -> str:
    return f"({'|'.join(sorted(names))})"


def _in_any_case(names: Iterable[str]) -> str:
    return _any(form for name in names for form in (name, name.upper()))
