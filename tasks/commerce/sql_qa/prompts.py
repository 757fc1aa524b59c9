"""Prompts of SQL: business questions, each with an answer that distinguishes the store's copies."""

import random
import re
from collections.abc import Iterator
from typing import Final

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.sql_qa.inputs import question_prompt
from tasks.commerce.sql_qa.questions import Family, Values, read_families, shuffled, values_of
from tasks.commerce.sql_qa.results import COPIES_WITH_AN_ANSWER, has_answer
from tasks.commerce.sql_qa.sandbox import Databases, Row
from tasks.commerce.sql_qa.store_copies import cut
from tasks.commerce.text.lexicons import read_wording

DATA_FILES: Final = ("data/wordings/sql_qa.toml",)
WORDING: Final = read_wording("sql_qa")
_END: Final = re.compile(r" (?:GROUP|HAVING|ORDER|LIMIT)\b")
_AND: Final = re.compile(r" AND (?!\d)")
"""Joins conditions, but not the ends of BETWEEN."""


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield questions of every family in turn, each with an answer that distinguishes the store's copies.

    A round has each family as often as its level says, in random order. A family drops out once all its questions were
    used in all wordings.
    """
    if store.orders.is_empty():
        return
    part = cut(store)
    databases, known = Databases.from_store(part), values_of(part)
    left = {family.name: _of_family(family, known, databases, generator) for family in read_families()}
    turns = [family.name for family in read_families() for _ in range(family.turns)]
    made = 0
    while turns and made < count:
        generator.shuffle(turns)
        for name in turns[: count - made]:
            example = next(left[name], None)
            if example is None:
                turns = [other for other in turns if other != name]
                break
            made += 1
            yield example


def _of_family(family: Family, known: Values, databases: Databases, generator: random.Random) -> Iterator[Example]:
    """Yield a family's questions in random order, each in each of its texts and wordings once."""
    combinations, texts = family.combinations(known), len(family.texts)
    proven: dict[int, bool] = {}
    for number in shuffled(combinations * texts * len(WORDING.instructions), generator):
        rest, combination = divmod(number, combinations)
        instruction, text = divmod(rest, texts)
        if not proven.get(combination, True):
            continue
        question = family.question(known, text, combination)
        if combination not in proven:
            proven[combination] = proves_something(question.sql, databases)
        if proven[combination]:
            prompt = question_prompt(WORDING.instructions[instruction], question.text)
            yield Example("sql_qa", WORDING.system, prompt, {"sql": question.sql})


def proves_something(sql: str, databases: Databases) -> bool:
    """Return whether the right result is evidence of a right query.

    It is not if a copy has only nulls and zeros for a result, if one constant fits all copies, or if the query gives
    the same on every copy without its conditions, without any one of them, without DISTINCT, or with `>` for `>=`.
    """
    results: list[tuple[Row, ...]] = []
    for number, database in enumerate(databases.copies):
        results.append(database.execute(sql).rows)
        if number < COPIES_WITH_AN_ANSWER and not has_answer(results[-1]):
            return False
    if len(set(results[:COPIES_WITH_AN_ANSWER])) < COPIES_WITH_AN_ANSWER:
        return False
    others = [*weaker(sql), *near(sql)]
    return all([execution.rows for execution in databases.run_reference(other)] != results for other in others)


def near(sql: str) -> list[str]:
    """Return a query's near misses: the limit itself counts or does not, or repeated rows do."""
    misses = ((r"([<>])(?= \d)", r"\1="), (r"([<>])=(?= \d)", r"\1"), (r"DISTINCT ", ""))
    return [other for pattern, new in misses if (other := re.sub(pattern, new, sql)) != sql]


def weaker(sql: str) -> list[str]:
    """Return a query without the conditions of each WHERE and HAVING, and without each one of them."""
    found: dict[str, None] = {}
    for word in (" WHERE ", " HAVING "):
        start = sql.find(word)
        while start >= 0:
            inside = start + len(word)
            end = _end_of_conditions(sql, inside)
            conditions = _AND.split(sql[inside:end])
            found[sql[:start] + sql[end:]] = None
            for place in range(len(conditions) if len(conditions) > 1 else 0):
                kept = " AND ".join(conditions[:place] + conditions[place + 1 :])
                found[sql[:inside] + kept + sql[end:]] = None
            start = sql.find(word, inside)
    return list(found)


def _end_of_conditions(sql: str, start: int) -> int:
    """Return where conditions end: at the next clause, or with the parenthesis around them."""
    depth = 0
    ends = {found.start() for found in _END.finditer(sql, start)}
    for place in range(start, len(sql)):
        depth += (sql[place] == "(") - (sql[place] == ")")
        if depth < 0 or (depth == 0 and place in ends):
            return place
    return len(sql)
