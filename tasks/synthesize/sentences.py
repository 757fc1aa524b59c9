"""Sentence patterns of reviews, with choices and placeholders, and the words that fill them."""

import itertools
import random
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from tasks.commerce.text.lexicons import read_data
from tasks.synthesize.market import CHANCES, MACHINE, SIZED, USED_UP, Thing

DATA_FILES: Final = (
    "data/reviews/complaints.toml",
    "data/reviews/opinions.toml",
    "data/reviews/kinds.toml",
    "data/reviews/words.toml",
)
ANYTHING: Final = "produto"
LONG_DELAY: Final = 4  # Days from which a delay is described as long.
FOR_CHILDREN: Final = frozenset(("toy", "plush"))
_CHOICE: Final = re.compile(r"\[([^\]]*)\]")


@cache
def read_patterns() -> Mapping[str, Any]:
    """Read the patterns: by section, then by issue, aspect, score or intention; a kind's own are `SECTION_of_KIND`."""
    patterns = {**read_data("reviews/complaints.toml"), **read_data("reviews/opinions.toml")}
    for kind, sections in read_data("reviews/kinds.toml").items():
        patterns |= {f"{section}_of_{kind}": table for section, table in sections.items()}
    return patterns


def expand(pattern: str) -> tuple[str, ...]:
    """Return every expansion of a pattern with choices written `[a|b]`."""
    pieces = [piece.split("|") if number % 2 else [piece] for number, piece in enumerate(_CHOICE.split(pattern))]
    return tuple(" ".join("".join(reading).split()) for reading in itertools.product(*pieces))


@cache
def sentences(section: str, key: str, mark: str = "", *, long_delay: bool = False) -> tuple[tuple[str, ...], ...]:
    """Return the patterns of a section that apply to a thing with that mark, each with all its expansions."""
    names = [section]
    names += [f"{section}_of_machines"] * (mark == MACHINE)
    names += [f"{section}_of_sized"] * (mark == SIZED)
    names += [f"{section}_of_solid"] * (mark != USED_UP)
    names += [f"{section}_of_long_delays"] * long_delay
    return tuple(readings for name in names for readings in _expanded(name, key))


@cache
def _expanded(section: str, key: str) -> tuple[tuple[str, ...], ...]:
    return tuple(expand(pattern) for pattern in read_patterns().get(section, {}).get(key, ()))


class Teller:
    """Sampler of sentences about one order."""

    def __init__(self, thing: Thing, days_late: int, *, feminine: bool, generator: random.Random) -> None:
        """Prepare the words."""
        self._mark, self._kind = thing.mark, thing.kind
        self._long_delay = days_late >= LONG_DELAY
        self._generator = generator
        # One name throughout, so that agreement is consistent in every sentence.
        name = thing if generator.random() < CHANCES["noun"] else Thing(ANYTHING, feminine=False)
        given = {**words_of(name), "delay": say_days(days_late), "y": "a" if feminine else "o"}
        self._words = DrawnWords(given, thing.kind in FOR_CHILDREN, generator)

    def say(self, section: str, key: str = "sentences") -> str:
        """Return a random filled sentence without a full stop."""
        return self.say_several(section, key, 1)[0]

    def say_several(self, section: str, key: str, most: int) -> list[str]:
        """Return sentences of different patterns, at most `most`."""
        common = sentences(section, key, self._mark, long_delay=self._long_delay)
        own = _expanded(f"{section}_of_{self._kind}", key)
        some = min(len(own), sum(self._generator.random() < CHANCES["own"] for _ in range(most))) if own else 0
        chosen = self._generator.sample(own, some) + self._generator.sample(common, min(most - some, len(common)))
        self._generator.shuffle(chosen)
        return [self._generator.choice(readings).format_map(self._words) for readings in chosen]


class DrawnWords(dict[str, str]):
    """Words by placeholder; those of `data/reviews/words.toml` are drawn when first needed, and then stay."""

    def __init__(self, given: Mapping[str, str], for_children: bool, generator: random.Random) -> None:
        super().__init__(given)
        self._for_children = for_children
        self._generator = generator

    def __missing__(self, name: str) -> str:
        if name == "of_person":
            article = {"minha": "da", "meu": "do"}.get(self["person"].split(" ", 1)[0], "de")
            return f"{article} {self['person']}"
        words = read_data("reviews/words.toml")["child" if name == "person" and self._for_children else name]
        self[name] = self._generator.choice(words)
        return self[name]


def words_of(thing: Thing) -> dict[str, str]:
    """Return the words that agree with a thing, by placeholder."""
    masculine = ("o", "um", "do", "ao", "esse", "meu")
    words = ("a", "uma", "da", "à", "essa", "minha") if thing.feminine else masculine
    agreeing = dict(zip(masculine, words, strict=True))
    beginning = {"O": words[0].upper(), "Meu": words[-1].capitalize()}
    return {**agreeing, **beginning, "x": words[0], "product": thing.noun}


def say_days(days: int) -> str:
    """Return a duration as people round it."""
    if days > 31:
        return "mais de um mês"
    if days >= 14 and days % 7 == 0:
        return f"{days // 7} semanas"
    return "1 dia" if days == 1 else f"{days} dias"


def continued(sentence: str) -> str:
    """Return a sentence as a continuation after a comma."""
    return sentence[0].lower() + sentence[1:]
