"""Values of a shopper's profile, as a prompt gives them: what a reason is checked against."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.portuguese_numbers import numbers_of
from tasks.commerce.text.text_form import KEPT_PROMPTS, MAX_CHARACTERS, fold, words
from tasks.commerce.text.vocabulary import roots

NUMBERS: Final[Mapping[str, str]] = {
    "Pedidos": "orders",
    "Total gasto": "spent",
    "Máximo de parcelas": "instalments",
    "Dias desde a última compra": "days",
    "Última nota": "last",
    "Nota média": "mean",
    "Entregas com atraso": "late",
    "Pedidos não entregues": "undelivered",
}
"""The profile's lines with a number, and the names by which claims know them."""
DATA_FILES: Final = ("data/lexicons/states.txt",)
_STATES: Final = {
    code: (fold(code), fold(name)) for code, name in (line.split(" = ", 1) for line in read_lexicon("states"))
}
_LABELS: Final = frozenset((*NUMBERS, "Estado", "Categoria favorita"))
LONGEST_VALUE: Final = 80
"""Characters of a line behind its label; a longer one is none of a profile."""


class ProfiledShopper(NamedTuple):
    """What a profile says of one shopper."""

    values: Mapping[str, float]
    """Numbers by name; a line that is missing, or says that nobody rated, has none."""
    category: frozenset[str]
    """Folded words of the favourite category."""
    category_roots: frozenset[str]
    """Roots of these words."""
    state: tuple[str, ...]
    """Folded ways to write the state: its code and its name."""

    def within(self, name: str, least: float, most: float) -> bool:
        """Return whether a value is known and between two bounds."""
        value = self.values.get(name)
        return value is not None and least <= value <= most


@lru_cache(maxsize=KEPT_PROMPTS)
def read_shopper(prompt: str) -> ProfiledShopper:
    """Read a profile; cached, as each prompt has many answers."""
    lines = {}
    for line in prompt[:MAX_CHARACTERS].split("\n"):
        label, _, value = line.partition(": ")
        if label in _LABELS and 0 < len(value) <= LONGEST_VALUE:
            lines[label] = value
    values = {name: found[0] for label, name in NUMBERS.items() if (found := numbers_of(lines.get(label, "")))}
    rated = {values[name] for name in ("last", "mean") if name in values}
    values["unrated"] = float(not rated)
    values["worst"] = min(rated, default=9.0)
    orders = values.get("orders", 0.0)
    if orders and "late" in values:
        values["late_share"] = values["late"] / orders
    if orders and "undelivered" in values:
        values["arrived"] = orders - values["undelivered"]
    code = lines.get("Estado", "").strip()
    state = _STATES.get(code) or ((fold(code),) if code else ())
    return ProfiledShopper(values, *_category(lines.get("Categoria favorita", "")), state)


@lru_cache(maxsize=KEPT_PROMPTS)
def _category(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the folded words of a category, and their roots."""
    read = frozenset(words(name))
    return read, roots(read)
