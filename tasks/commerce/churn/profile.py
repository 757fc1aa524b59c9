"""Profile of a prompt: the lines that a reason may name, and what each says for leaving or for staying.

Forms and directions of values, and the clauses that say them, are data (`data/evidence/churn.toml`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import Any, Final, Literal

from tasks.commerce.text.lexicons import Entry, read_entries

DATA_FILES: Final = ("data/evidence/churn.toml",)
PHRASES: Final = read_entries("evidence/churn.toml")
FIELDS: Final[Mapping[str, Any]] = {field.nome: field for field in PHRASES.campos}
Direction = Literal["sai", "fica"]
OTHER: Final[Mapping[Direction, Direction]] = {"sai": "fica", "fica": "sai"}
MOST, MAX_CHARACTERS, KEPT_PROFILES = 3, 4_000, 4_096
WAITED_DAYS: Final = 30  # From the last order on, after which one that has not come may be a grievance.
MOST_STARS, TENTH = 5, 0.1  # Of a rating, and what its rounding down to a decimal may leave out.
ORDERS, LATE, MISSING, DAYS = "Pedidos", "Entregas com atraso", "Pedidos não entregues", "Dias desde a última compra"
RATINGS: Final = ("Última nota", "Nota média")
_SILENT: Final = Entry({})  # Says nothing, such as a rating that nobody gave.


@dataclass(frozen=True, eq=False)
class CustomerProfile:
    """What a prompt says of a customer, by the names of the lines that are known."""

    texts: Mapping[str, str]  # Values as they are printed.
    bands: Mapping[str, Any]
    """What each value says: its direction (`aponta`), if any, and how telling it is (`peso`)."""

    def weight(self, names: Iterable[str]) -> int:
        """Return how telling some lines are together."""
        return sum([self.bands[name].peso for name in names])

    @cached_property
    def pointing(self) -> Mapping[Direction, list[str]]:
        """Return the lines that point each way, the most telling first, one of each theme."""
        found: dict[Direction, dict[str, str]] = {"sai": {}, "fica": {}}
        pointing = [name for name, band in self.bands.items() if band.aponta]
        for name in sorted(pointing, key=lambda name: -self.bands[name].peso):
            found[self.bands[name].aponta].setdefault(FIELDS[name].tema, name)
        return {direction: list(by_theme.values()) for direction, by_theme in found.items()}

    def explaining(self, way: Direction) -> list[str]:
        """Return the lines that explain an answer best, those that point its way first."""
        return [*self.pointing[way], *self.pointing[OTHER[way]]][:MOST]


def said_by(name: str, way: str) -> set[object]:
    """Return the name and the theme of a line, of which no other reason has one."""
    return {name, (FIELDS[name].tema, way)}


@lru_cache(maxsize=KEPT_PROFILES)
def read_profile(prompt: str) -> CustomerProfile | None:
    """Return the profile below a prompt's instruction, None where it has no line that is known; cached."""
    values: dict[str, set[str]] = {}
    for name, _, value in (line.partition(": ") for line in prompt[:MAX_CHARACTERS].splitlines()[1:]):
        values.setdefault(name, set()).update({value} - {""})
    # Of two values of one name nobody knows the true one.
    profile = profile_of({name: each.pop() for name, each in values.items() if len(each) == 1})
    return profile if profile.texts else None


def profile_of(lines: Mapping[str, str]) -> CustomerProfile:
    """Return the profile of some lines, by their names; those that contradict others say nothing."""
    texts = {name: lines[name] for name in FIELDS if name in lines}
    figures = {
        name: float(text.removeprefix("R$ ").replace(".", "").replace(",", "."))
        for name, text in texts.items()
        if re.fullmatch(FIELDS[name].forma, text, re.ASCII)
    }
    orders, late, missing, last, mean = map(figures.get, (ORDERS, LATE, MISSING, *RATINGS))
    contradictions = (
        (orders == 0, figures),
        # Nothing came, so nothing came on time.
        (late == 0 and (1 if orders is None else orders) <= (missing or 0), (LATE,)),
        (orders and last and mean and not _can_be(orders, last, mean), RATINGS),
        # One of them is wrong, and nobody knows which.
        (orders is not None and (late or 0) + (missing or 0) > orders, (LATE, MISSING, ORDERS)),
        # The order is on its way.
        (figures.get(DAYS, inf) < WAITED_DAYS and missing, (MISSING,)),
    )
    silent = {name for holds, names in contradictions if holds for name in names}
    bands = {
        name: next(band for band in FIELDS[name].faixas if band.ate is None or figures[name] <= band.ate)
        if name in figures.keys() - silent
        else _SILENT
        for name in texts
    }
    return CustomerProfile(texts, bands)


def _can_be(orders: float, last: float, mean: float) -> bool:
    """Return whether stars are the newest rating and the mean of at most so many orders, both as rounded down."""
    others = round(mean * orders - last, 6)
    return orders - 1 < round(others + TENTH * orders, 6) and others < round(MOST_STARS * (orders - 1) + TENTH, 6)
