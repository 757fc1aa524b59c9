"""Query text: extraction from a completion, and the names and values that it contains."""

import re
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final

from tasks.commerce.sql_qa.sandbox import FORMATS, FUNCTIONS, MAX_SQL_CHARACTERS
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import CLOSED_CLASS, FUNCTION_WORDS, KEPT_PROMPTS, fold, words

DATA_FILES: Final = ("data/lexicons/query_names.txt", "data/lexicons/query_words.txt", "data/lexicons/sql_keywords.txt")
FENCED, SURROUNDED = 0.9, 0.5
"""Form grade of a query that is alone in a code fence, and the highest of one among other text."""
NOT_ALONE: Final = 0.48
"""Share that a query keeps if text stands beside it, or in comments or names, which nobody checks: less than a half,
and more than any wrong query earns."""
UNION: Final = re.compile(r"\bUNION\b", re.IGNORECASE)
"""Looked for in texts and comments, too: which quotes belong together is what a hostile query hides."""
UNITED: Final = 0.4
"""Share that a query keeps with a UNION that its reference lacks: a second statement, and so a second guess."""
SHORT_NAME, BEGINNING = 2, 5
"""Letters of a name that says nothing (`t1`, `rn`), and by which a word in a comment is known, whatever its ending."""
DENIALS: Final = frozenset(("nao", "sem"))
MAX_CHARACTERS, MAX_PROSE_LINES = 20_000, 6
"""Characters of a completion that are searched, and lines after a query that are tried as the start of the prose."""

_START: Final = re.compile(r"\b(?:SELECT|WITH)\b", re.IGNORECASE)
_WRITE: Final = re.compile(
    r"(?:\s|```\w*|(?>/\*.*?\*/)|--[^\n]*\n)*+(?:DELETE|DROP|UPDATE|INSERT|REPLACE|CREATE|ALTER|ATTACH|PRAGMA|VACUUM)\b(?=\s)",
    re.IGNORECASE | re.DOTALL,
)
_LINE_START: Final = re.compile(r"^[ \t]*(?=(?:SELECT|WITH)\b)", re.IGNORECASE | re.MULTILINE)
_FENCE: Final = re.compile(r"```(?:sql|sqlite)?[ \t]*\n?([^`]*)", re.IGNORECASE)
_STATEMENT: Final = re.compile(r"(?:'[^']*'|(?!```)[^;'])*")
_COMMENTS: Final = re.compile(r"(?:\s|(?>/\*.*?\*/)|--[^\n]*\n)*+", re.DOTALL)
_COMMENT: Final = re.compile(r"'[^']*'|(--[^\n]*|/\*.*?\*/)", re.DOTALL)
_BLANK_LINE: Final = re.compile(r"\n[ \t]*\n")
_PROSE_LINE: Final = re.compile(
    r"\n[ \t]*(?!(?:FROM|WHERE|GROUP|ORDER|HAVING|LIMIT|OFFSET|JOIN|LEFT|RIGHT|INNER|OUTER|CROSS|FULL|NATURAL|ON|USING|"
    r"AND|OR|NOT|UNION|EXCEPT|INTERSECT|SELECT|WITH|VALUES|CASE|WHEN|THEN|ELSE|END|AS|IN|IS|BETWEEN|LIKE|ASC|DESC|OVER|"
    r"PARTITION|ROWS|WINDOW|FILTER)\b)[-*#>]?[ \t]*[^\W\d_]",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"[a-z_]+")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NAME_WORD: Final = re.compile(r"[^\W\d_]+")
_TEXT_VALUE: Final = re.compile(r"'([^']*)'")
_FORMAT: Final = re.compile(r"(?:%[a-z][-/: ]?)+", re.IGNORECASE)
_NUMBER_VALUE: Final = re.compile(r"(?:[<>=]|\b(?:LIMIT|BETWEEN|AND))\s*(\d+(?:\.\d+)?)", re.IGNORECASE)
_INSIDE: Final = re.compile(r"'[^']*'|\([^()]*\)")
_WINDOW: Final = re.compile(r"\bOVER\s*\([^()]*\)", re.IGNORECASE)
_PARENTHESES: Final = re.compile(r"\(([^()]*)\)")
_IDENTIFIER: Final = re.compile(r"'[^']*'|\"([^\"]*)\"|\[([^\]]*)\]|`([^`]*)`|([^\W\d]\w*)")
_NO_NAMES: Final = FUNCTIONS | FORMATS | frozenset(read_lexicon("sql_keywords"))
_ORDER: Final = re.compile(r"\bORDER\s+BY\b", re.IGNORECASE)


def candidates(completion: str) -> list[str]:
    """Return the candidate queries of a completion, the likeliest first; the first that runs is used.

    A query begins with SELECT or WITH, in a code fence or anywhere, and ends with a semicolon, the fence, a blank line
    or the first line of prose. A completion that begins with another statement has none.
    """
    completion = completion[:MAX_CHARACTERS]
    if _WRITE.match(completion):
        return []
    found: dict[str, None] = {}
    fence = next((match for match in _FENCE.finditer(completion) if _START.search(match[1])), None)
    starts = (_START.search(completion), _LINE_START.search(completion))
    for text in (fence[1] if fence else "", *(completion[each.start() :] if each else "" for each in starts)):
        inside = _START.search(text)
        if inside is None:
            continue
        match = _STATEMENT.match(text[inside.start() : inside.start() + MAX_SQL_CHARACTERS + 1])
        statement = match[0].strip() if match else ""
        paragraph = _BLANK_LINE.split(statement, maxsplit=1)[0].strip()
        ends = [line.start() for line in _PROSE_LINE.finditer(paragraph)][:MAX_PROSE_LINES]
        found |= dict.fromkeys([statement, paragraph, *(paragraph[:end].strip() for end in reversed(ends))])
    short = [sql for sql in found if sql and len(sql) <= MAX_SQL_CHARACTERS]
    return short or list(found)[:1]


def form(sql: str, completion: str) -> float:
    """Grade, in [0, 1], the share of a completion that is the query."""
    text = completion.strip()
    bare = text.removesuffix(";").rstrip()
    if not sql or not bare:
        return 0.0
    if len(sql) == len(bare):
        return 1.0
    inside = _inside_fence(text)
    if inside is not None and inside.strip().rstrip(";").rstrip() == sql:
        return FENCED
    return SURROUNDED * min(len(sql) / len(bare), 1.0)


def _inside_fence(text: str) -> str | None:
    """Return what the one code fence around all of a text holds; None without one."""
    fence = _FENCE.match(text)
    return fence[1] if fence and text.endswith("```") and fence.end() == len(text) - 3 else None


def is_alone(sql: str, completion: str) -> bool:
    """Return whether a completion is the query and nothing else, but a code fence and comments."""
    inside = _inside_fence(completion.strip())
    text = completion.strip() if inside is None else inside
    written = _COMMENTS.match(text)
    bare = text[written.end() if written else 0 :].rstrip().removesuffix(";").rstrip()
    return len(bare) == len(sql)


def comments_explain(completion: str, question: str) -> bool:
    """Return whether comments consist of the question's words and of those of queries (`query_words.txt`)."""
    text = completion[:MAX_CHARACTERS]
    if "--" not in text and "/*" not in text:
        return True
    known = _QUERY_WORDS, FUNCTION_WORDS - DENIALS, _beginnings(question)
    return all(
        word[0].isdigit() or any(word in each or word[:BEGINNING] in each for each in known)
        for word in words(" ".join(filter(None, _COMMENT.findall(text))))
    )


def names_explain(sql: str, question: str, known: AbstractSet[str]) -> bool:
    """Return whether the names that a query gives are words of the question, of queries, or known: of its tables."""
    text = _COMMENT.sub(lambda found: " " if found[1] else found[0], sql[: MAX_SQL_CHARACTERS + 1])
    given = {next(filter(None, found), "") for found in _IDENTIFIER.findall(text)}
    given = {name for name in given if name.lower() not in _NO_NAMES and name.lower() not in known}
    if not given:
        return True
    allowed = _name_beginnings(frozenset(known))
    for word in (part for name in given for part in _NAME_WORD.findall(fold(_HUMP.sub(" ", name).replace("_", " ")))):
        forms = {word, word[:BEGINNING], word.removesuffix("s")}
        if len(word) > SHORT_NAME and forms.isdisjoint(allowed) and forms.isdisjoint(_beginnings(question)):
            return False
    return True


@lru_cache(maxsize=64)
def _name_beginnings(known: frozenset[str]) -> frozenset[str]:
    named = " ".join((*read_lexicon("query_names"), *known)).replace("_", " ")
    return _beginnings(named) | _QUERY_WORDS | CLOSED_CLASS


@lru_cache(maxsize=KEPT_PROMPTS)
def _beginnings(text: str) -> frozenset[str]:
    return frozenset(word[:BEGINNING] for word in words(text))


_QUERY_WORDS: Final = _beginnings(" ".join(read_lexicon("query_words")))


def parts(sql: str, known: AbstractSet[str]) -> set[str]:
    """Return the tables and columns that a query names, and what it compares with; date formats are excluded."""
    texts = {text.strip("%").lower() for text in _TEXT_VALUE.findall(sql) if not _FORMAT.fullmatch(text)}
    return {name for name in _NAME.findall(sql.lower()) if name in known} | texts | set(_NUMBER_VALUE.findall(sql))


@lru_cache(maxsize=8_192)
def is_ordered(sql: str) -> bool:
    """Return whether a query's own rows are ordered, not only those of an inner query or window."""
    outside, inside = _INSIDE.subn("", sql)
    while inside:
        outside, inside = _INSIDE.subn("", outside)
    return bool(_ORDER.search(outside))


@lru_cache(maxsize=8_192)
def orders_rows(sql: str) -> bool:
    """Return whether a query orders rows at all, its own or an inner query's: any other order is by chance."""
    before, text = "", sql
    while before != text:
        before, text = text, _PARENTHESES.sub(r" \1 ", _WINDOW.sub(" ", text), count=1)
    return bool(_ORDER.search(text))
