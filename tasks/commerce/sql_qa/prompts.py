"""Prompts of SQL: business questions, each with an answer that distinguishes the store's copies.

Questions are data in families, each with its texts, its reference query and its parameters: `data/questions` has one
file per level. A family's questions are numbered, so that they can be drawn without repetition.
"""

import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from pydantic import Field

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.inputs import TaskInputs, Text
from tasks.commerce.sql_qa.results import COPIES_WITH_AN_ANSWER, has_answer
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.sql_qa.store_copies import cut
from tasks.commerce.text.lexicons import read_data, read_wording
from tasks.commerce.text.portuguese import MONTHS, StateCode

DATA_FILES: Final = ("data/questions", "data/wordings/sql_qa.toml")
WORDING: Final = read_wording("sql_qa")
_END: Final = re.compile(r" (?:GROUP|HAVING|ORDER|LIMIT)\b")
_AND: Final = re.compile(r" AND (?!\d)")  # Joins conditions, but not the ends of BETWEEN.
Level = Literal["filters", "joins", "aggregation", "dates", "windows"]
LEVELS: Final[tuple[Level, ...]] = ("filters", "joins", "aggregation", "dates", "windows")


class QuestionInputs(TaskInputs):
    """Inputs of one query."""

    question: Text = Field(description="The question about the store, such as `Quantos pedidos foram entregues?`")

    def prompt(self, instruction: str) -> str:
        """Return the prompt."""
        return instruction.replace("{question}", self.question)


class Worded(NamedTuple):
    """A question in Portuguese and the query that answers it, or a value of a parameter in the form of either."""

    text: str
    sql: str


Values = Mapping[str, Sequence[Worded]]


class Family(NamedTuple):
    """Questions that differ in their parameters only."""

    name: str
    level: Level
    turns: int
    """Occurrences of the family in a round."""
    texts: tuple[str, ...]
    """Wordings of the question; each names every parameter in braces, a state with its preposition: `{state:de}`."""
    sql: str
    parameters: Mapping[str, str | tuple[Worded, ...]]
    """For each parameter a kind of store values, or the values themselves."""

    def combinations(self, values: Values) -> int:
        """Return the number of parameter combinations in a store."""
        return math.prod(len(choices) for choices in self._choices(values))

    def question(self, values: Values, text: int, combination: int) -> Worded:
        """Return one question: its text and its combination of parameters by their numbers."""
        chosen: dict[str, Worded] = {}
        for name, choices in zip(self.parameters, self._choices(values), strict=True):
            combination, place = divmod(combination, len(choices))
            chosen[name] = choices[place]
        return Worded(
            self.texts[text].format_map({name: value.text for name, value in chosen.items()}),
            self.sql.format_map({name: value.sql for name, value in chosen.items()}),
        )

    def _choices(self, values: Values) -> list[Sequence[Worded]]:
        return [values[kind] if isinstance(kind, str) else kind for kind in self.parameters.values()]


@cache
def read_families() -> tuple[Family, ...]:
    """Read the question bank, the easy levels first."""
    documents = {level: read_data(f"questions/{level}.toml") for level in LEVELS}

    def family(level: Level, each: Mapping[str, Any]) -> Family:
        known = each["parameters"].items()
        parameters = {name: kind if isinstance(kind, str) else tuple(map(_value, kind)) for name, kind in known}
        turns = documents[level]["turns"]
        return Family(each["name"], level, turns, tuple(each["texts"]), each["sql"], parameters)

    return tuple(family(level, each) for level, document in documents.items() for each in document["family"])


def _value(value: int | list[str]) -> Worded:
    return Worded(*value) if isinstance(value, list) else Worded(str(value), str(value))


def values_of(store: Store) -> Values:
    """Collect the values of a store's rows, by the kinds of the question bank."""
    purchases = store.orders["order_purchase_timestamp"]
    months = sorted({(moment.year, moment.month) for moment in purchases})
    return {
        "state": _texts(store.customers["customer_state"], StateCode),
        "seller_state": _texts(store.sellers["seller_state"], StateCode),
        "category": _texts(store.products["product_category_name"]),
        "status": _texts(store.orders["order_status"]),
        "payment_type": _texts(store.payments["payment_type"]),
        "stars": [_value(stars) for stars in sorted(set(store.reviews["review_score"]))],
        "year": [Worded(str(year), f"'{year}'") for year in sorted({year for year, _ in months})],
        "month": [Worded(f"{MONTHS[month - 1]} de {year}", f"'{year}-{month:02}'") for year, month in months],
    }


def _texts(column: Any, form: type[str] = str) -> list[Worded]:
    return [Worded(form(text), "'" + text.replace("'", "''") + "'") for text in sorted(set(column.drop_nulls()))]


def shuffled(count: int, generator: random.Random) -> Iterator[int]:
    """Yield the numbers below `count` in random order, each once, in constant memory."""
    if count < 1:
        return
    step = next(step for step in iter(lambda: generator.randrange(1, count + 1), 0) if math.gcd(step, count) == 1)
    start = generator.randrange(count)
    yield from ((start + step * turn) % count for turn in range(count))


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield questions of every family in turn, each with an answer that distinguishes the store's copies.

    A round has each family as often as its level says, in random order, until all its questions were used.
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
            prompt = WORDING.instructions[instruction].replace("{question}", question.text)
            yield Example("sql_qa", WORDING.system, prompt, {"sql": question.sql})


def proves_something(sql: str, databases: Databases) -> bool:
    """Return whether the right result is evidence of a right query.

    It is not if a copy has only nulls and zeros for a result, if one constant fits all copies, or if the query gives
    the same on every copy without its conditions, without any one of them, without DISTINCT, or with `>` for `>=`.
    """
    results = [database.execute(sql).rows for database in databases.copies]
    answers = {rows for rows in results[:COPIES_WITH_AN_ANSWER] if has_answer(rows)}
    if len(answers) < COPIES_WITH_AN_ANSWER:
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
    for word in (each for clause in (" WHERE ", " HAVING ") for each in re.finditer(clause, sql)):
        before, end = sql[: word.start()], _end_of_conditions(sql, word.end())
        conditions = _AND.split(sql[word.end() : end])
        found[before + sql[end:]] = None
        for place in range(len(conditions) if len(conditions) > 1 else 0):
            kept = " AND ".join(conditions[:place] + conditions[place + 1 :])
            found[before + word[0] + kept + sql[end:]] = None
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
