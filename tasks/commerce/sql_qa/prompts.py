"""Prompts of SQL: business questions, each with an answer that distinguishes the store's copies."""

import random
import re
from collections.abc import Iterator
from typing import Final

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.sql_qa.questions import Family, Values, read_families, shuffled, values_of
from tasks.commerce.sql_qa.results import COPIES_WITH_AN_ANSWER, has_answer
from tasks.commerce.sql_qa.sandbox import Databases, Row
from tasks.commerce.sql_qa.store_copies import cut
from tasks.commerce.text.wordings import read_wording

DATA_FILES: Final = ("data/wordings/sql_qa.toml",)
WORDING: Final = read_wording("sql_qa")
# A store may have no nulls, so that a condition against them changes nothing there.
_CONDITIONS: Final = (
    re.compile(r" WHERE (?!\w+ IS NOT NULL GROUP).*?(?= GROUP|$)"),
    re.compile(r" AND (?!.* AND ).*?(?= GROUP|$)"),
)


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield questions of every family in turn, each with an answer that distinguishes the store's copies.

    A round has each family as often as its level says, in random order. A family drops out once all its questions were
    used in all wordings.
    """
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
            prompt = WORDING.instructions[instruction].replace("{question}", question.text)
            yield Example("sql_qa", WORDING.system, prompt, {"sql": question.sql})


def proves_something(sql: str, databases: Databases) -> bool:
    """Return whether the right result is evidence of a right query.

    It is not if a copy has only nulls and zeros for a result, if one constant fits all copies, or if the query gives
    the same without its conditions, or without the last of them.
    """
    results: list[tuple[Row, ...]] = []
    for number, database in enumerate(databases.copies):
        results.append(database.execute(sql).rows)
        if number < COPIES_WITH_AN_ANSWER and not has_answer(results[-1]):
            return False
    if len(set(results[:COPIES_WITH_AN_ANSWER])) < COPIES_WITH_AN_ANSWER:
        return False
    weaker = {condition.sub("", sql, count=1) for condition in _CONDITIONS} - {sql}
    return all([execution.rows for execution in databases.run_reference(other)] != results for other in weaker)
