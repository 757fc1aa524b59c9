"""Claims that a reason makes about a shopper, and whether the profile bears them out.

The claims are data: `data/lexicons/churn_claims.toml`. A claim that has been read leaves the text, so that what remains
is what nobody can check.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from tasks.commerce.churn.shopper import Shopper
from tasks.commerce.text.lexicons import FOLDER
from tasks.commerce.text.portuguese_numbers import value_of

DATA_FILES: Final = ("data/lexicons/churn_claims.toml",)
Sign = Literal["leaves", "stays", ""]
TAKEN: Final = "_"
"""Stands in the text for a claim that was read, so that no pattern reaches over it."""
DAYS_A_UNIT: Final[Mapping[str, float]] = {"dia": 1, "seman": 7, "mes": 30.44, "ano": 365.25}
LONG_DAYS: Final = 120
"""Days without an order from which the time since the last one speaks for leaving."""
SHORT_DAYS: Final = 90
"""Days up to which it speaks for staying."""
GOOD_RATING: Final = 4.0
BAD_RATING: Final = 2.9
LOYAL_ORDERS: Final = 3
ROUNDED: Final = 0.05
"""Share by which money and long times may be rounded."""
MAX_DIGITS: Final = 12

_ABOUT: Final = (
    r"(?:(?P<about>(?:ja )?(?:bem |muito |pouco )?mais de|(?:pouco )?menos de|quase|cerca de|aproximadamente|por volta de|"
    r"em torno de|perto de|praticamente|uns|umas|ao menos|pelo menos|apenas|so|somente|ja|exatos|exatamente|os|as|seus|"
    r"suas|ultimos|ultimas|nos ultimos|nas ultimas|de|ate|acima de|abaixo de|proximo de|proxima de|so em|entre) ){0,2}"
)
_MACROS: Final = {
    "{about}": _ABOUT,
    "{n2}": r"(?P<n2>\d[\d.,]*)",
    "{n}": r"(?P<n>\d[\d.,]*)",
    "{unit}": r"(?P<unit>dias?|semanas?|mes|meses|anos?)",
    "{w}": r"(?:\w+ )?",
}


class Read(NamedTuple):
    """One claim that a text makes."""

    claim: "Claim"
    start: int
    match: re.Match[str]
    negative: bool
    """Whether a word before it in its clause denies."""


@dataclass(frozen=True)
class Claim:
    """One thing that can be said of a shopper, in its usual words."""

    number: str
    """Name of the value that a number must be; empty for a claim in words."""
    bounds: Mapping[str, tuple[float, float]]
    """Bounds of the profile's values."""
    every: bool
    """Whether all bounds must hold, or any."""
    sign: Sign
    patterns: tuple[re.Pattern[str], ...]

    @property
    def concludes(self) -> bool:
        """Return whether it says only whether the shopper leaves or stays."""
        return not self.number and not self.bounds

    def holds(self, shopper: Shopper, read: "Read") -> bool:
        """Return whether the profile bears it out."""
        if self.number:
            return _number_holds(self.number, read.match, shopper, negative=read.negative)
        held = (shopper.within(name, least, most) for name, (least, most) in self.bounds.items())
        return all(held) if self.every else any(held)

    def speaks_for(self, shopper: Shopper) -> Sign:
        """Return the side that it speaks for."""
        return self.sign if self.sign or not self.number else _sign_of(self.number, shopper)


@cache
def read_claims() -> tuple[Claim, ...]:
    """Read the claims, in the order in which they are tried."""
    document = tomllib.loads((FOLDER / "churn_claims.toml").read_text(encoding="utf-8"))
    return tuple(_claim(entry) for entry in document["claim"])


def _claim(entry: Mapping[str, Any]) -> Claim:
    bounds = entry.get("every", entry.get("any", {}))
    return Claim(
        number=entry.get("number", ""),
        bounds={name: (float(least), float(most)) for name, (least, most) in bounds.items()},
        every="every" in entry,
        sign=entry.get("sign", ""),
        patterns=_patterns(entry["says"], numeric="number" in entry),
    )


def _patterns(says: Sequence[str], *, numeric: bool) -> tuple[re.Pattern[str], ...]:
    if not numeric:
        return (re.compile(rf"(?<![a-z_])(?:{'|'.join(says)})(?![a-z_])"),)
    written = []
    for text in says:
        for macro, pattern in _MACROS.items():
            text = text.replace(macro, pattern)
        written.append(re.compile(rf"(?<![a-z\d_])(?:{text})(?![a-z\d_])"))
    return tuple(written)
