"""Typing style of one shopper: accents, capitals, abbreviations, typos and emoji, the same in every review."""

import random
import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from tasks.synthesize.sentences import REVIEWS, continued, read_patterns

DATA_FILES: Final = ("data/reviews/spelling.toml",)

CHANCE_OF_ABBREVIATION: Final = 0.7
CHANCE_OF_MISSPELLING: Final = 0.6
CHANCE_OF_SLIP: Final = 0.7
LETTERS_BETWEEN_SLIPS: Final = 110
FEWEST_LETTERS: Final = 20
"""Fewest letters of a text with typos: a single misspelled word might be unrecognizable."""
_LONG_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_ACCENTED: Final = "áàâãéêíóôõúüçÁÀÂÃÉÊÍÓÔÕÚÜÇñ"
_BARE: Final = str.maketrans({letter: unicodedata.normalize("NFD", letter)[0] for letter in _ACCENTED})


@dataclass(frozen=True)
class Style:
    """Typing style of one shopper, in every review."""

    feminine: bool = False
    """Whether she refers to herself in the feminine."""
    terse: bool = False
    drops_accents: bool = False
    small_letters: bool = False
    capitals: bool = False
    shouts_when_angry: bool = False
    abbreviates: bool = False
    misspells: bool = False
    commas: bool = False
    """Whether commas replace full stops."""
    exclaims: bool = False
    emoji: bool = False


def draw_style(generator: random.Random) -> Style:
    """Draw a shopper's typing style; about four in ten type with every accent and capital in place."""
    return Style(
        feminine=generator.random() < 0.55,
        terse=generator.random() < 0.35,
        drops_accents=generator.random() < 0.12,
        small_letters=generator.random() < 0.19,
        capitals=generator.random() < 0.025,
        shouts_when_angry=generator.random() < 0.06,
        abbreviates=generator.random() < 0.09,
        misspells=generator.random() < 0.24,
        commas=generator.random() < 0.25,
        exclaims=generator.random() < 0.20,
        emoji=generator.random() < 0.025,
    )


def type_out(sentences: list[str], mood: str, style: Style, generator: random.Random) -> str:
    """Type sentences in their writer's style.

    Args:
        sentences: Sentences without full stops, one or more.
        mood: `positive`, `neutral`, `negative` or `ironic`.
        style: The writer's.
        generator: Draws marks, typos and emoji.

    Returns:
        The text; its words remain recognizable, if not always at a glance.
    """
    text = _joined(sentences, style, generator)
    # First, so that no misspelled word is then abbreviated as another: "mas", "mais", "+".
    if style.abbreviates:
        text = _respelt(text, "abbreviations", CHANCE_OF_ABBREVIATION, generator)
    if style.misspells:
        text = _respelt(text, "misspellings", CHANCE_OF_MISSPELLING, generator)
        if len(text) >= FEWEST_LETTERS and generator.random() < CHANCE_OF_SLIP:
            text = _with_slips(text, generator)
    if style.capitals or (style.shouts_when_angry and mood == "negative"):
        text = text.upper()
    elif style.small_letters:
        text = text.lower()
    if style.drops_accents:
        text = text.translate(_BARE)
    if style.emoji:
        text += " " + generator.choice(read_patterns()["emoji"][mood])
    return text


def _joined(sentences: list[str], style: Style, generator: random.Random) -> str:
    mark = "," if style.commas else generator.choice(("!", "!!", "!!!")) if style.exclaims else "."
    text = sentences[0]
    for sentence in sentences[1:]:
        text += f"{mark} {continued(sentence) if style.commas else sentence}" if _is_open(text) else f" {sentence}"
    end = generator.choice(("!", "!!", "!!!")) if style.exclaims else generator.choice((".", ""))
    return text + end if _is_open(text) else text


def _is_open(text: str) -> bool:
    """Return whether a text needs a mark at its end: a question and an emoji do not."""
    return text[-1].isalnum()


@cache
def _spelling() -> Mapping[str, Any]:
    return tomllib.loads((REVIEWS / "spelling.toml").read_text(encoding="utf-8"))


@cache
def _known_words(kind: str) -> re.Pattern[str]:
    longest_first = sorted(_spelling()[kind], key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(map(re.escape, longest_first))})\b", flags=re.IGNORECASE)


def _respelt(text: str, kind: str, chance: float, generator: random.Random) -> str:
    spellings = _spelling()[kind]

    def respell(match: re.Match[str]) -> str:
        word = match[0]
        if generator.random() >= chance:
            return word
        respelt: str = generator.choice(spellings[word.lower()])
        return respelt.capitalize() if word[0].isupper() else respelt

    return _known_words(kind).sub(respell, text)


def _with_slips(text: str, generator: random.Random) -> str:
    """Mistype a letter of a long word, one for every so many letters."""
    for _ in range(1 + len(text) // LETTERS_BETWEEN_SLIPS):
        found = list(_LONG_WORD.finditer(text))
        if not found:
            break
        match = generator.choice(found)
        text = text[: match.start()] + _mistyped(match[0], generator) + text[match.end() :]
    return text


def _mistyped(word: str, generator: random.Random) -> str:
    """Drop, double, swap or replace one letter; never the first, by which a word is recognized."""
    place = generator.randrange(1, len(word) - 1)
    before, letter, following, after = word[:place], word[place], word[place + 1], word[place + 2 :]
    match generator.randrange(4):
        case 0:
            return before + following + after
        case 1:
            return before + letter + letter + following + after
        case 2:
            return before + following + letter + after
        case _:
            near: str = generator.choice(_spelling()["neighbours"].get(letter.lower(), letter))
            return before + near + following + after
