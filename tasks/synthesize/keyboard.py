"""Typing style of one shopper: accents, capitals, spelling, line breaks and emoji, the same in every review."""

import random
import re
import unicodedata
from functools import cache, lru_cache
from typing import Final, NamedTuple

from tasks.commerce.text.lexicons import read_data
from tasks.synthesize.market import CHANCES
from tasks.synthesize.sentences import continued, read_patterns

DATA_FILES: Final = ("data/reviews/spelling.toml",)
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
