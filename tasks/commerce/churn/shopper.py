"""Values of a shopper's profile, as a prompt gives them: what a reason is checked against."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.portuguese_numbers import numbers_in
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
_STATE_NAMES: Final = dict(line.split(" = ", 1) for line in read_lexicon("states"))
_LINE: Final = re.compile(r"^([^:\n]{1,40}): (.{1,80})$", re.MULTILINE)


@dataclass(frozen=True)
class ProfiledShopper:
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
    lines = dict(_LINE.findall(prompt[:MAX_CHARACTERS]))
    values = {name: found[0] for line, name in NUMBERS.items() if (found := numbers_in(lines.get(line, "")))}
    rated = {values[name] for name in ("last", "mean") if name in values}
    values["unrated"] = float(not rated)
    if rated:
        values["worst"] = min(rated)
    else:
        values["worst"] = 9.0
    orders = values.get("orders", 0.0)
    if orders and "late" in values:
        values["late_share"] = values["late"] / orders
    if orders and "undelivered" in values:
        values["arrived"] = orders - values["undelivered"]
    code = lines.get("Estado", "").strip()
    state = tuple(fold(name) for name in (code, _STATE_NAMES.get(code, "")) if name)
    category = frozenset(words(lines.get("Categoria favorita", "")))
    return ProfiledShopper(values, category, roots(category), state)
