"""Sentences of reviews, from patterns and words, and the style in which a shopper types them in every review.

A style has accents, capitals, spelling, line breaks and emoji.
"""

import itertools
import random
import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from tasks.commerce.text.lexicons import read_data
from tasks.synthesize.market import CHANCES, MACHINE, SIZED, USED_UP, Thing

DATA_FILES: Final = (
    "data/reviews/complaints.toml",
    "data/reviews/opinions.toml",
    "data/reviews/kinds.toml",
    "data/reviews/words.toml",
    "data/reviews/spelling.toml",
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


_SPELLING: Final = read_data("reviews/spelling.toml")
_SOUNDS: Final = tuple((re.compile(letters), heard) for letters, heard in _SPELLING["sounds"])

LETTERS_BETWEEN_SLIPS: Final = 110
FEWEST_LETTERS: Final = 20
"""Fewest letters of a text with words spelled by ear: a single one might be unrecognizable."""
_LONG_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_ACCENTED: Final = "áàâãéêíóôõúüçÁÀÂÃÉÊÍÓÔÕÚÜÇñ"
_BARE: Final = str.maketrans({letter: unicodedata.normalize("NFD", letter)[0] for letter in _ACCENTED})


Style = frozenset[str]
"""Habits of one shopper, in every review: keys of `habits` in `data/reviews/spelling.toml`."""


def draw_style(generator: random.Random) -> Style:
    """Draw a shopper's typing style; about four in ten type with every accent and capital in place."""
    return frozenset(habit for habit, chance in _SPELLING["habits"].items() if generator.random() < chance)


class Span(NamedTuple):
    """Characters of one of some sentences."""

    sentence: int
    start: int
    end: int


def type_out(
    sentences: list[str], mood: str, style: Style, generator: random.Random, place: Span | None = None
) -> tuple[str, str]:
    """Type sentences in their writer's style."""
    text, start = _joined(sentences, style, generator, place.sentence if place else 0)
    start, end = (start + place.start, start + place.end) if place else (0, 0)
    # Before the place, the place, and after it: no spelling is of words on both sides of an end of it.
    parts = [text[:start], text[start:end], text[end:]]
    # First, so that no misspelled word is then abbreviated as another: "mas", "mais", "+".
    if "abbreviates" in style:
        parts = [_respelt(part, "abbreviations", CHANCES["abbreviation"], generator) for part in parts]
    if "misspells" in style:
        parts = [_respelt(part, "misspellings", CHANCES["misspelling"], generator) for part in parts]
        letters = sum(map(len, parts))
        if letters >= FEWEST_LETTERS and generator.random() < CHANCES["slip"]:
            parts = _spelled_by_ear(parts, letters, generator)
    if "capitals" in style or ("shouts_when_angry" in style and mood == "negative"):
        parts = [part.upper() for part in parts]
    elif "small_letters" in style:
        parts = [part.lower() for part in parts]
    if "drops_accents" in style:
        parts = [part.translate(_BARE) for part in parts]
    if "emoji" in style:
        parts.append(" " + generator.choice(read_patterns()["emoji"][mood]))
    return "".join(parts), parts[1]


def _joined(sentences: list[str], style: Style, generator: random.Random, wanted: int) -> tuple[str, int]:
    """Return the text, and where a wanted sentence begins in it."""
    mark = "," if "commas" in style else generator.choice(("!", "!!", "!!!")) if "exclaims" in style else "."
    text, start = sentences[0], 0
    for number, sentence in enumerate(sentences[1:], start=1):
        text += mark if _is_open(text) else ""
        if "line_breaks" in style and generator.random() < CHANCES["line_break"]:
            text = text.removesuffix(",") + generator.choice(("\n", "\n", "\n\n")) + sentence
        else:
            text += f" {continued(sentence) if text[-1] == ',' else sentence}"
        if number == wanted:
            start = len(text) - len(sentence)
    end = generator.choice(("!", "!!", "!!!")) if "exclaims" in style else generator.choice((".", ""))
    return text + end if _is_open(text) else text, start


def _is_open(text: str) -> bool:
    """Return whether a text needs a mark at its end: a question and an emoji do not."""
    return text[-1].isalnum()


@cache
def _known_words(kind: str) -> re.Pattern[str]:
    longest_first = sorted(_SPELLING[kind], key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(map(re.escape, longest_first))})\b", flags=re.IGNORECASE)


def _respelt(text: str, kind: str, chance: float, generator: random.Random) -> str:
    spellings = _SPELLING[kind]

    def respell(match: re.Match[str]) -> str:
        word = match[0]
        if generator.random() >= chance:
            return word
        respelt: str = generator.choice(spellings[word.lower()])
        return respelt.capitalize() if word[0].isupper() else respelt

    return _known_words(kind).sub(respell, text)


def _spelled_by_ear(parts: list[str], letters: int, generator: random.Random) -> list[str]:
    """Spell a long word as it sounds, or without its accents, one for every so many letters."""
    spelled = list(parts)
    for _ in range(1 + letters // LETTERS_BETWEEN_SLIPS):
        words = ((number, match) for number, part in enumerate(spelled) for match in _LONG_WORD.finditer(part))
        found = [(number, match) for number, match in words if _as_heard(match[0])]
        if not found:
            break
        number, match = generator.choice(found)
        part = spelled[number]
        spelled[number] = part[: match.start()] + generator.choice(_as_heard(match[0])) + part[match.end() :]
    return spelled


@lru_cache(maxsize=8_192)
def _as_heard(word: str) -> tuple[str, ...]:
    """Return the ways in which a word is misspelled by ear; never its first letter, by which it is recognized."""
    if word.isupper() or word.lower() in _SPELLING["kept"]:
        return ()
    first, rest = word[0], word[1:]
    heard = [first + letters.sub(sound, rest, count=1) for letters, sound in _SOUNDS]
    return tuple(sorted({spelled for spelled in [*heard, word.translate(_BARE)] if spelled != word}))
