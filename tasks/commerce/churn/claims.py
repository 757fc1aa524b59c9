"""Claims that a reason makes about a shopper, and whether the profile bears them out.

The claims are data: `data/lexicons/churn_claims.toml`. A claim that has been read leaves the text, so that what remains
is what nobody can check.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, reduce
from math import inf
from operator import attrgetter, or_
from typing import Final, Literal, NamedTuple

from tasks.commerce.churn.pattern_keys import KEY, keys_of
from tasks.commerce.churn.shopper import ProfiledShopper
from tasks.commerce.text.lexicons import FOLDER
from tasks.commerce.text.portuguese_numbers import value_of
from tasks.commerce.text.remembered import MAX_KEPT_WORDS

DATA_FILES: Final = ("data/lexicons/churn_claims.toml",)
Sign = Literal["leaves", "stays", ""]
OPPOSITE: Final[Mapping[Sign, Sign]] = {"leaves": "stays", "stays": "leaves", "": ""}
TAKEN: Final = "_"
"""Stands in the text for a claim that was read, so that no pattern reaches over it."""
DAYS_A_UNIT: Final[Mapping[str, float]] = {"dia": 1, "seman": 7, "mes": 30.44, "ano": 365.25}
LONG_DAYS: Final = 120
"""Days without an order from which the time since the last one speaks for leaving."""
SHORT_DAYS: Final = 75
"""Days up to which it speaks for staying."""
GOOD_RATING: Final = 4.0
BAD_RATING: Final = 2.9
LOYAL_ORDERS: Final = 3
ROUNDED: Final = 0.05
"""Share by which money may be rounded."""
ROUNDED_DAYS: Final = 0.02
"""The same for days that are said without a word that loosens them."""
MOST_MONTHS_OF_A_YEAR: Final = 61
"""Days by which `um ano` may be missed."""
NEEDS: Final = 3
"""Sets of keys by which a wording is chosen."""
MONEY: Final = frozenset(("spent", "per_order", "instalments"))
CLAUSE: Final = 60
"""Characters before a claim that are searched for its denial."""
MAX_DIGITS: Final = 12
LOOSE: Final = frozenset(
    (
        *("quase", "cerca de", "aproximadamente", "por volta de", "em torno de", "perto de", "praticamente"),
        *("uns", "umas", "proximo de", "proxima de"),
    )
)
"""Words before a number after which it need not be exact."""

_WRITTEN: Final = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:[.,]\d+)?", re.ASCII)
_DENIES: Final = re.compile(r"(?<![a-z])(?:nao|nenhuma?|nada|sem|nunca)(?![a-z])")
_DENIES_END: Final = re.compile(r"(?<![a-z_])(?:nao|nem|nunca|sem)(?: [a-z]+){0,5} $")
_DENIES_FACT: Final = re.compile(r"(?<![a-z_])(?:nao|nem|nunca)(?: [a-z]+)? $")
_start: Final = attrgetter("start")
_TAKE: Final = {ord(letter): TAKEN for letter in "naoemuc"}
_ABOUT: Final = (
    r"(?:(?P<about>(?:ja )?(?:bem |muito |pouco )?mais de|(?:pouco )?menos de|quase|cerca de|aproximadamente|"
    r"por volta de|em torno de|perto de|praticamente|uns|umas|ao menos|pelo menos|apenas|so|somente|ja|exatos|"
    r"exatamente|os|as|seus|suas|ultimos|ultimas|nos ultimos|nas ultimas|de|ate|acima de|abaixo de|proximo de|"
    r"proxima de|so em|entre) ){0,2}"
)
_MACROS: Final = {
    "{about}": _ABOUT,
    "{of}": r"(?: d[oa]s(?: (?:seus|suas))?(?: (?P<of>\d+))?)?",
    "{n2}": r"(?P<n2>\d[\d.,]*)",
    "{n}": r"(?P<n>\d[\d.,]*)",
    "{unit}": r"(?P<unit>dias?|semanas?|mes|meses|anos?)",
}


class _Scale(NamedTuple):
    """Bounds between which a value speaks for leaving, and for staying."""

    value: str
    leaves: tuple[float, float]
    stays: tuple[float, float]


_OF_RATINGS: Final = _Scale("mean", (0, BAD_RATING), (GOOD_RATING, 5))
_SCALES: Final[Mapping[str, _Scale]] = {
    "time": _Scale("days", (LONG_DAYS, inf), (0, SHORT_DAYS)),
    "late": _Scale("late", (1, inf), (0, 0)),
    "undelivered": _Scale("undelivered", (1, inf), (0, 0)),
    "orders": _Scale("orders", (1, 1), (LOYAL_ORDERS, inf)),
    "mean": _OF_RATINGS,
    "rating": _OF_RATINGS,
    "last": _OF_RATINGS._replace(value="last"),
}


class Read(NamedTuple):
    """One claim that a text makes."""

    claim: "Claim"
    start: int
    match: re.Match[str]
    negative: bool
    """Whether a word before it in its clause denies; read for numbers alone."""
    denied: bool
    """Whether it is the claim that is denied: `o histórico não sugere retorno`."""

    @property
    def end(self) -> int:
        """Return its end in the text."""
        return self.match.end() - 1

    @property
    def of_late_days(self) -> bool:
        """Return whether it is said of what lies in the last days: `nos últimos 20 dias`."""
        return (self.match.groupdict().get("about") or "").strip().endswith(("ultimos", "ultimas"))

    def holds_of(self, name: str, shopper: ProfiledShopper) -> bool:
        """Return whether its number is that of a value."""
        return _number_holds(name, self.match, shopper, negative=self.negative)

    def holds(self, shopper: ProfiledShopper) -> bool:
        """Return whether the profile bears it out; a conclusion says nothing of the profile."""
        return self.claim.concludes or self.claim.holds(shopper, self) != self.denied

    def speaks_for(self, shopper: ProfiledShopper) -> Sign:
        """Return the side that it speaks for."""
        sign = self.claim.speaks_for(shopper)
        return OPPOSITE[sign] if self.denied else sign


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
    """The side that it speaks for, where the value does not decide."""

    @cached_property
    def concludes(self) -> bool:
        """Return whether it says only whether the shopper leaves or stays."""
        return not self.number and not self.bounds

    @cached_property
    def bears(self) -> bool:
        """Return whether it bears on the answer: what was spent, and in how many instalments, speaks for no side."""
        return self.number not in MONEY and not (self.bounds.keys() and self.bounds.keys() <= MONEY)

    @cached_property
    def pays(self) -> bool:
        """Return whether it says only in how many instalments was paid, which is no cause."""
        return self.number == "instalments" or self.bounds.keys() == {"instalments"}

    def holds(self, shopper: ProfiledShopper, read: "Read") -> bool:
        """Return whether the profile bears it out; of `2 dos 3 pedidos` both numbers must be right."""
        of = read.match.groupdict().get("of")
        if of and said_value(of) != shopper.values.get("orders"):
            return False
        if self.number:
            return _number_holds(self.number, read.match, shopper, negative=read.negative)
        held = (shopper.within(name, least, most) for name, (least, most) in self.bounds.items())
        return all(held) if self.every else any(held)

    def speaks_for(self, shopper: ProfiledShopper) -> Sign:
        """Return the side that it speaks for."""
        return _sign_of(self.number, shopper) if self.number else self.sign


class _Wording(NamedTuple):
    """One wording of a claim."""

    claim: Claim
    pattern: re.Pattern[str]


class _Wordings(NamedTuple):
    """All wordings, those that are tried first with the lowest bits, and what a text must hold for each.

    A wording has up to `NEEDS` sets of keys. They are bits of one number: first the first needs of all wordings, then
    their second needs, and so on. A text is read once, word by word, however many wordings there are.
    """

    every: tuple[_Wording, ...]
    met_by: Mapping[str, int]
    """The needs that a beginning of a word meets."""
    free: int
    """Needs that any text meets, where a wording has fewer."""
    numbers: int
    """The wordings with a number."""


@cache
def _wordings() -> _Wordings:
    """Read the wordings, in the order of the file."""
    document = tomllib.loads((FOLDER / "churn_claims.toml").read_text(encoding="utf-8"))
    every: list[_Wording] = []
    needs: list[tuple[frozenset[str], ...]] = []
    for entry in document["claim"]:
        bounds = entry.get("every", entry.get("any", {}))
        claim = Claim(
            number=entry.get("number", ""),
            bounds={name: (float(least), float(most)) for name, (least, most) in bounds.items()},
            every="every" in entry,
            sign=entry.get("sign", ""),
        )
        for text in entry["says"]:
            said = text
            for macro, pattern in _MACROS.items():
                said = said.replace(macro, pattern)
            every.append(_Wording(claim, re.compile(rf" (?:{said})(?![a-z\d_])")))
            needs.append(keys_of(said)[:NEEDS])
    met_by: dict[str, int] = {}
    free = 0
    for need in range(NEEDS):
        for place, sets in enumerate(needs):
            bit = 1 << (need * len(every) + place)
            for key in sets[need] if need < len(sets) else ():
                met_by[key] = met_by.get(key, 0) | bit
            free |= bit if need >= len(sets) else 0
    numbers = sum(1 << place for place, wording in enumerate(every) if wording.claim.number)
    return _Wordings(tuple(every), met_by, free, numbers)


def needs_met_by(word: str) -> int:
    """Return the needs that a word meets, as bits."""
    met_by = _wordings().met_by
    return reduce(or_, [met_by[part] for length in range(2, KEY + 1) if (part := word[:length]) in met_by], 0)


@lru_cache(maxsize=MAX_KEPT_WORDS)
def _tried(met: int, numbers: bool) -> tuple[_Wording, ...]:
    """Return the wordings whose needs a text meets, in their order."""
    every, _, free, of_numbers = _wordings()
    met |= free
    tried = (1 << len(every)) - 1
    for need in range(NEEDS):
        tried &= met >> (need * len(every))
    if not numbers:
        tried &= ~of_numbers
    return tuple(every[place] for place, bit in enumerate(reversed(f"{tried:b}")) if bit == "1")


def find_claims(said: str, met: int, *, numbers: bool, denies: bool) -> tuple[list[Read], str]:
    """Read a text's claims.

    Args:
        said: Folded words with one space between them, numbers in digits.
        met: The needs that its words meet.
        numbers: Whether it holds a number.
        denies: Whether it holds a word that denies.

    Returns:
        The claims by their place, and what no claim has taken.
    """
    found: list[Read] = []
    # Patterns begin with the blank before a word, which is found faster than any other beginning of a word.
    said = f" {said}"
    for claim, pattern in _tried(met, numbers):
        match = pattern.search(said)
        while match and match.end() > match.start() + 1:
            start = first = match.start() + 1
            denial, negative = None, False
            if denies:
                clause = _clause_before(said, start)
                if claim.number:
                    negative = _DENIES.search(clause) is not None
                else:
                    denial = (_DENIES_END if claim.concludes else _DENIES_FACT).search(clause)
            if denial:
                start -= len(clause) - denial.start()
            found.append(Read(claim, start - 1, match, negative, denial is not None))
            taken = said[start : start + 4].translate(_TAKE) if denial else ""
            taken += said[start + len(taken) : first]
            said = f"{said[:start]}{taken}{TAKEN * (match.end() - first)}{said[match.end() :]}"
            match = pattern.search(said, match.end())
    if len(found) > 1:
        found.sort(key=_start)
    return found, said[1:]


def _clause_before(said: str, end: int) -> str:
    begin = max(end - CLAUSE, 0)
    return said[max(said.rfind(".", begin, end), said.rfind(",", begin, end), begin - 1) + 1 : end]


def said_value(written: str | None) -> float | None:
    """Return the value of a number as Brazilians write it; None where it is none."""
    found = _WRITTEN.fullmatch(written.strip(".,")) if written and len(written) <= MAX_DIGITS else None
    return value_of(found[0]) if found else None


def _number_holds(name: str, match: re.Match[str], shopper: ProfiledShopper, *, negative: bool) -> bool:
    groups = match.groupdict()
    said = said_value(groups.get("n") or groups.get("n2"))
    if said is None:
        return False
    about = (groups.get("about") or "").strip()
    if name == "time":
        return _time_holds(said, groups, about, shopper, negative=negative)
    if groups.get("thousand") or groups.get("thousand2"):
        said *= 1_000
    if name in ("spent", "per_order"):
        spent, orders = shopper.values.get("spent"), shopper.values.get("orders") or 1.0
        return spent is not None and _near(said, spent if name == "spent" else spent / orders, about, ROUNDED)
    if name in ("rating", "mean", "last"):
        names = {"rating": ("last", "mean"), "mean": ("mean",), "last": ("last",)}[name]
        return any(_rated(said, shopper.values[each], about) for each in names if each in shopper.values)
    actual = shopper.values.get(name)
    return actual is not None and _counted(said, actual, about)


def near_money(read: Read, actual: float) -> bool:
    """Return whether a claim's amount is another as people say it."""
    said = said_value(read.match.groupdict().get("n") or read.match.groupdict().get("n2"))
    return said is not None and _near(said, actual, (read.match["about"] or "").strip(), ROUNDED)


def _counted(said: float, actual: float, about: str) -> bool:
    if about.endswith("mais de") or about == "acima de":
        return said < actual <= 2 * said + 1
    if about.endswith("menos de") or about == "abaixo de":
        return actual < said
    if about in ("ao menos", "pelo menos"):
        return said <= actual <= 2 * said + 1
    return actual == (said - 1 if about == "quase" else said)


def _rated(said: float, actual: float, about: str) -> bool:
    if about.endswith("mais de") or about == "acima de":
        return said < actual
    if about.endswith("menos de") or about == "abaixo de":
        return actual < said
    loose = 0.51 if about in LOOSE else 0.051
    return abs(said - actual) <= loose


def _near(said: float, actual: float, about: str, rounded: float) -> bool:
    """Return whether a number is another as people say it: exact, rounded to tens, or beside a word that loosens."""
    if about.endswith("mais de") or about == "acima de":
        return said <= actual <= 1.5 * said
    if about.endswith("menos de") or about == "abaixo de":
        return 0.5 * said <= actual <= said
    if about in LOOSE:
        return abs(said - actual) <= 2 * rounded * actual
    if abs(said - actual) < 1:
        return True
    return said % 10 == 0 and abs(said - actual) <= min(rounded * actual, 0.5 * 10 ** (len(str(int(said))) - 1))


def _time_holds(
    said: float, groups: Mapping[str, str | None], about: str, shopper: ProfiledShopper, *, negative: bool
) -> bool:
    """Return whether a time is that since the last purchase, as people say it."""
    actual = shopper.values.get("days")
    if actual is None:
        return False
    unit = _days_of(groups["unit"] or "")
    days = said * unit + 0.5 * unit * bool(groups.get("half"))
    days += (said_value(groups.get("rest")) or 0.0) * _days_of(groups.get("unit2") or "")
    if about.endswith(("ultimos", "ultimas")):
        least, most = (0.95 * days, inf) if negative else (0.0, 1.05 * days)
    elif about.endswith("mais de") or about in ("acima de", "ao menos", "pelo menos"):
        least, most = 0.985 * days, max(1.6 * days, days + unit)
    elif about.endswith("menos de") or about == "abaixo de":
        least, most = 0.4 * days, 1.02 * days
    elif about in LOOSE:
        loose = max(0.15 * actual, 0.6 * unit)
        least, most = days - loose, days + loose
    elif unit == 1:
        return _near(said, actual, "", ROUNDED_DAYS if said >= LONG_DAYS else 0.0)
    else:
        loose = min(0.75 * unit, MOST_MONTHS_OF_A_YEAR)
        least, most = days - loose, days + loose
    return least <= actual <= most


def _days_of(unit: str) -> float:
    return next((days for name, days in DAYS_A_UNIT.items() if unit.startswith(name)), 1.0)


def _sign_of(name: str, shopper: ProfiledShopper) -> Sign:
    """Return the side for which a value speaks."""
    scale = _SCALES.get(name)
    value = None if scale is None else shopper.values.get(scale.value)
    if scale is None or value is None:
        return ""
    if scale.leaves[0] <= value <= scale.leaves[1]:
        return "leaves"
    return "stays" if scale.stays[0] <= value <= scale.stays[1] else ""
