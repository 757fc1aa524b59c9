"""Business questions about a store, in families: each with its texts, its reference query and its parameters.

The families are data: `data/questions` has one file per level, from easy to hard. A family's questions are numbered,
one number for each text and each combination of values, so that they can be drawn without repetition.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from schemas.store.store import Store
from tasks.commerce.text.lexicons import read_data
from tasks.commerce.text.portuguese import MONTHS, StateCode

DATA_FILES: Final = ("data/questions",)
Level = Literal["filters", "joins", "aggregation", "dates", "windows"]
LEVELS: Final[tuple[Level, ...]] = ("filters", "joins", "aggregation", "dates", "windows")
"""The levels, from easy to hard."""


@dataclass(frozen=True)
class Question:
    """A question in Portuguese and the query that answers it."""

    text: str
    sql: str


@dataclass(frozen=True)
class Value:
    """Value of a parameter, in the question's form and the query's."""

    text: str
    sql: str


Values = Mapping[str, Sequence[Value]]
"""A store's values, by kind."""


@dataclass(frozen=True)
class Family:
    """Questions that differ in their parameters only."""

    name: str
    level: Level
    turns: int
    """Occurrences of the family in a round."""
    texts: tuple[str, ...]
    """Wordings of the question; each names every parameter in braces, a state with its preposition: `{state:de}`."""
    sql: str
    """The reference query, with the same parameters."""
    parameters: Mapping[str, str | tuple[Value, ...]]
    """For each parameter a kind of store values, or the values themselves."""

    def combinations(self, values: Values) -> int:
        """Return the number of parameter combinations in a store."""
        return math.prod(len(choices) for choices in self._choices(values))

    def question(self, values: Values, text: int, combination: int) -> Question:
        """Return one question: its text and its combination of parameters by their numbers."""
        chosen: dict[str, Value] = {}
        for name, choices in zip(self.parameters, self._choices(values), strict=True):
            combination, place = divmod(combination, len(choices))
            chosen[name] = choices[place]
        return Question(
            self.texts[text].format_map({name: value.text for name, value in chosen.items()}),
            self.sql.format_map({name: value.sql for name, value in chosen.items()}),
        )

    def _choices(self, values: Values) -> list[Sequence[Value]]:
        return [values[kind] if isinstance(kind, str) else kind for kind in self.parameters.values()]


@cache
def read_families() -> tuple[Family, ...]:
    """Read the question bank, the easy levels first."""
    families: list[Family] = []
    for level in LEVELS:
        document = read_data(f"questions/{level}.toml")
        families += [_family(level, document["turns"], entry) for entry in document["family"]]
    return tuple(families)


def values_of(store: Store) -> Values:
    """Collect the values of a store's rows, by the kinds of the question bank."""
    purchases = store.orders["order_purchase_timestamp"]
    months = sorted({(moment.year, moment.month) for moment in purchases})
    return {
        "state": _states(store.customers["customer_state"]),
        "seller_state": _states(store.sellers["seller_state"]),
        "category": _texts(store.products["product_category_name"]),
        "status": _texts(store.orders["order_status"]),
        "payment_type": _texts(store.payments["payment_type"]),
        "stars": [Value(str(stars), str(stars)) for stars in sorted(set(store.reviews["review_score"]))],
        "year": [Value(str(year), f"'{year}'") for year in sorted({year for year, _ in months})],
        "month": [Value(f"{MONTHS[month - 1]} de {year}", f"'{year}-{month:02}'") for year, month in months],
    }


def shuffled(count: int, generator: random.Random) -> Iterator[int]:
    """Yield the numbers below `count` in random order, each once, in constant memory."""
    if count < 1:
        return
    step = next(step for step in iter(lambda: generator.randrange(1, count + 1), 0) if math.gcd(step, count) == 1)
    start = generator.randrange(count)
    yield from ((start + step * turn) % count for turn in range(count))


def _family(level: Level, turns: int, entry: Mapping[str, Any]) -> Family:
    parameters = {
        name: kind if isinstance(kind, str) else tuple(_value(value) for value in kind)
        for name, kind in entry["parameters"].items()
    }
    return Family(entry["name"], level, turns, tuple(entry["texts"]), entry["sql"], parameters)


def _value(value: int | list[str]) -> Value:
    return Value(*value) if isinstance(value, list) else Value(str(value), str(value))


def _texts(column: Any) -> list[Value]:
    return [Value(text, _quoted(text)) for text in sorted(set(column.drop_nulls()))]


def _states(column: Any) -> list[Value]:
    return [Value(StateCode(value.text), value.sql) for value in _texts(column)]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
