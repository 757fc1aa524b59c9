"""Profile of a prompt: the lines that a reason may name, and what each says for leaving or for staying.

Directions of values and the clauses that say them are data (`data/evidence/churn.toml` says what each key means).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import inf
from typing import Any, Final, Literal

from tasks.commerce.text.lexicons import Entry, read_entries

DATA_FILES: Final = ("data/evidence/churn.toml",)
Direction = Literal["sai", "fica"]
OTHER: Final[Mapping[Direction, Direction]] = {"sai": "fica", "fica": "sai"}
MOST: Final = 3
KEPT_PROFILES: Final = 4_096
WAITED_DAYS: Final = 30  # From the last order on, after which one that has not come may be a grievance.
MAX_CHARACTERS: Final = 4_000
RATINGS: Final = ("Última nota", "Nota média")
MOST_STARS, TENTH = 5, 0.1  # Of a rating, and what its rounding down to a decimal may leave out.
_COUNT: Final = re.compile(r"(\d{1,3}(?:\.\d{3})+|\d{1,12})()", re.ASCII)
_FIGURES: Final = {
    "Total gasto": re.compile(r"(?:R\$ )?(\d{1,3}(?:\.\d{3})+|\d{1,12})(,\d{1,2})?", re.ASCII),
    "Última nota": (_STARS := re.compile(r"((?!5,0?[1-9])[1-5])(,\d{1,2})?", re.ASCII)),
    "Nota média": _STARS,
}
_SILENT: Final = Entry({"aponta": None, "peso": 0, "frases": []})
"""Says nothing, such as a rating that nobody gave, or any line of somebody without an order."""


@dataclass(frozen=True, eq=False)
class CustomerProfile:
    """What a prompt says of a customer, in the lines that are known."""

    texts: Mapping[str, str]
    """Values as they are printed, by the fields' names."""
    bands: Mapping[str, Any]
    """What each value says, the direction (`aponta`) and how telling it is (`peso`)."""

    def weight(self, names: Sequence[str]) -> int:
        """Return how telling some lines are together."""
        return sum([self.bands[name]["peso"] for name in names])

    @cached_property
    def pointing(self) -> Mapping[Direction, list[str]]:
        """Return the fields that point each way, the most telling first, one of each theme."""
        found: dict[Direction, dict[str, str]] = {"sai": {}, "fica": {}}
        for name in sorted(self.bands, key=lambda name: -self.weight([name])):
            if direction := self.bands[name].aponta:
                found[direction].setdefault(themes()[name], name)
        return {direction: list(by_theme.values()) for direction, by_theme in found.items()}

    @cached_property
    def explanations(self) -> Mapping[Direction, tuple[Sequence[str], int]]:
        """Return the lines that explain each answer best, those that point its way first, and how telling they are."""
        found = {way: [*self.pointing[way], *self.pointing[OTHER[way]]][:MOST] for way in OTHER}
        return {way: (names, self.weight(names)) for way, names in found.items()}


@cache
def phrases() -> Any:
    """Return the fields with their bands, and the sentences."""
    found = read_entries("evidence/churn.toml")
    for field in found.campos:
        field["faixas"] = [Entry(_SILENT | band) for band in field.faixas]
    return found


@cache
def themes() -> Mapping[str, str]:
    """Return the theme of each field."""
    return {field.nome: field.tema for field in phrases().campos}


def said_by(name: str, way: str) -> set[object]:
    """Return the name and the theme of a line, of which no other reason has one."""
    return {name, (themes()[name], way)}


@lru_cache(maxsize=KEPT_PROFILES)
def read_profile(prompt: str) -> CustomerProfile | None:
    """Return the profile below a prompt's instruction, None where it has no line that is known; cached."""
    lines = [line.partition(": ") for line in prompt[:MAX_CHARACTERS].splitlines()[1:]]
    values: dict[str, set[str]] = {}
    for name, _, value in lines:
        values.setdefault(name, set()).update([value] if value else [])
    # Of two values of one name nobody knows the true one.
    profile = profile_of({name: next(iter(each)) for name, each in values.items() if len(each) == 1})
    return profile if profile.texts else None


def profile_of(lines: Mapping[str, str]) -> CustomerProfile:
    """Return the profile of some lines, by their names; those that contradict others say nothing."""
    fields = {field.nome: field for field in phrases().campos if field.nome in lines}
    read = {name: _FIGURES.get(name, _COUNT).fullmatch(lines[name]) for name in fields}
    figures = {
        name: float(found[1].replace(".", "") + (found[2] or "").replace(",", "."))
        for name, found in read.items()
        if found
    }
    orders, late, missing = map(figures.get, ("Pedidos", "Entregas com atraso", "Pedidos não entregues"))
    last, mean = map(figures.get, RATINGS)
    silent: set[str] = set()
    if orders == 0:
        silent |= figures.keys()
    if late == 0 and (1 if orders is None else orders) <= (missing or 0):
        # Nothing came, so nothing came on time.
        silent.add("Entregas com atraso")
    if orders and last and mean and not _can_be(orders, last, mean):
        silent |= {*RATINGS}
    if orders is not None and (late or 0) + (missing or 0) > orders:
        # One of them is wrong, and nobody knows which.
        silent |= {"Entregas com atraso", "Pedidos não entregues", "Pedidos"}
    if missing and figures.get("Dias desde a última compra", inf) < WAITED_DAYS:
        # The order is on its way.
        silent.add("Pedidos não entregues")
    bands = {
        name: next(band for band in field.faixas if band.ate is None or figures[name] <= band.ate)
        if name in figures.keys() - silent
        else _SILENT
        for name, field in fields.items()
    }
    return CustomerProfile({name: lines[name] for name in fields}, bands)


def _can_be(orders: float, last: float, mean: float) -> bool:
    """Return whether stars are the newest rating and the mean of at most so many orders, both as rounded down."""
    others = round(mean * orders - last, 6)
    return orders - 1 < round(others + TENTH * orders, 6) and others < round(MOST_STARS * (orders - 1) + TENTH, 6)
