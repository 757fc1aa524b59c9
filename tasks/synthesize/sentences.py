"""Sentence patterns of reviews, with choices and placeholders, and the words that fill them."""

import itertools
import random
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from tasks.synthesize.market import MACHINE, SIZED, USED_UP, Thing

DATA_FILES: Final = ("data/reviews/complaints.toml", "data/reviews/opinions.toml")
REVIEWS: Final = Path(__file__).resolve().parents[2] / "data" / "reviews"
ANYTHING: Final = "produto"
"""Shoppers' word for any product."""
LONG_DELAY: Final = 4
"""Days from which a delay is described as long."""
CHANCE_OF_NOUN: Final = 0.55
_CHOICE: Final = re.compile(r"\[([^\]]*)\]")


@cache
def read_patterns() -> Mapping[str, Any]:
    """Read the patterns: by section, then by issue, aspect, score or intention."""
    files = (REVIEWS / "complaints.toml", REVIEWS / "opinions.toml")
    return {key: table for path in files for key, table in tomllib.loads(path.read_text(encoding="utf-8")).items()}


def expand(pattern: str) -> tuple[str, ...]:
    """Return every expansion of a pattern with choices written `[a|b]`."""
    pieces = [piece.split("|") if number % 2 else [piece] for number, piece in enumerate(_CHOICE.split(pattern))]
    return tuple(" ".join("".join(reading).split()) for reading in itertools.product(*pieces))


@cache
def sentences(section: str, key: str, mark: str = "", *, long_delay: bool = False) -> tuple[tuple[str, ...], ...]:
    """Return the patterns of a section that apply to a thing with that mark, each with all its expansions.

    Args:
        section: The section, such as `complaints`.
        key: The subject, such as an issue.
        mark: The thing's.
        long_delay: Whether the delay justifies "it took for ever".
    """
    names = [section]
    names += [f"{section}_of_machines"] * (mark == MACHINE)
    names += [f"{section}_of_sized"] * (mark == SIZED)
    names += [f"{section}_of_solid"] * (mark != USED_UP)
    names += [f"{section}_of_long_delays"] * long_delay
    patterns = read_patterns()
    return tuple(expand(pattern) for name in names for pattern in patterns.get(name, {}).get(key, ()))


class Teller:
    """Sampler of sentences about one order."""

    def __init__(self, thing: Thing, days_late: int, *, feminine: bool, generator: random.Random) -> None:
        """Prepare the words.

        Args:
            thing: The product.
            days_late: Whole days past the promised date, if the order was late.
            feminine: The gender in which the shopper speaks of herself or himself.
            generator: Chooses.
        """
        self._mark = thing.mark
        self._long_delay = days_late >= LONG_DELAY
        self._generator = generator
        # One name throughout, so that agreement is consistent in every sentence.
        name = thing if generator.random() < CHANCE_OF_NOUN else Thing(ANYTHING, feminine=False)
        self._words = {**words_of(name), "delay": say_days(days_late), "y": "a" if feminine else "o"}

    def say(self, section: str, key: str = "sentences") -> str:
        """Return a random filled sentence without a full stop."""
        return self.say_several(section, key, 1)[0]

    def say_several(self, section: str, key: str, most: int) -> list[str]:
        """Return sentences of different patterns, at most `most`."""
        patterns = sentences(section, key, self._mark, long_delay=self._long_delay)
        chosen = self._generator.sample(patterns, min(most, len(patterns)))
        return [self._generator.choice(readings).format_map(self._words) for readings in chosen]


def words_of(thing: Thing) -> dict[str, str]:
    """Return the words that agree with a thing, by placeholder."""
    masculine = ("o", "um", "do", "ao", "esse", "meu")
    words = ("a", "uma", "da", "à", "essa", "minha") if thing.feminine else masculine
    agreeing = dict(zip(masculine, words, strict=True))
    return {**agreeing, "O": words[0].upper(), "x": words[0], "product": thing.noun}


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
