"""Typing style of one shopper: accents, capitals, spelling, line breaks and emoji, the same in every review."""

import random
import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from tasks.synthesize.sentences import REVIEWS, continued, read_patterns

DATA_FILES: Final = ("data/reviews/spelling.toml",)

CHANCE_OF_ABBREVIATION: Final = 0.7
CHANCE_OF_MISSPELLING: Final = 0.6
CHANCE_OF_SLIP: Final = 0.7
LETTERS_BETWEEN_SLIPS: Final = 110
FEWEST_LETTERS: Final = 20
"""Fewest letters of a text with words spelled by ear: a single one might be unrecognizable."""
CHANCE_OF_LINE_BREAK: Final = 0.7
"""Probability of a new line after a sentence, for those who use them."""
KEPT_WORDS: Final = 8_192
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
    line_breaks: bool = False


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
        misspells=generator.random() < 0.14,
        commas=generator.random() < 0.25,
        exclaims=generator.random() < 0.20,
        emoji=generator.random() < 0.025,
        line_breaks=generator.random() < 0.16,
    )


def type_out(sentences: list[str], mood: str, style: Style, generator: random.Random) -> str:
    """Type sentences in their writer's style.

    Args:
        sentences: Sentences without full stops, one or more.
        mood: `positive`, `neutral`, `negative` or `ironic`.
        style: The writer's.
        generator: Draws marks, misspellings, line breaks and emoji.

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
            text = _spelled_by_ear(text, generator)
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
        text += mark if _is_open(text) else ""
        if style.line_breaks and generator.random() < CHANCE_OF_LINE_BREAK:
            text = text.removesuffix(",") + generator.choice(("\n", "\n", "\n\n")) + sentence
        else:
            text += f" {continued(sentence) if text[-1] == ',' else sentence}"
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


@cache
def _sounds() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(letters), heard) for letters, heard in _spelling()["sounds"])


def _spelled_by_ear(text: str, generator: random.Random) -> str:
    """Spell a long word as it sounds, or without its accents, one for every so many letters."""
    for _ in range(1 + len(text) // LETTERS_BETWEEN_SLIPS):
        found = [match for match in _LONG_WORD.finditer(text) if _as_heard(match[0])]
        if not found:
            break
        match = generator.choice(found)
        text = text[: match.start()] + generator.choice(_as_heard(match[0])) + text[match.end() :]
    return text


@lru_cache(maxsize=KEPT_WORDS)
def _as_heard(word: str) -> tuple[str, ...]:
    """Return the ways in which a word is misspelled by ear; never its first letter, by which it is recognized."""
    if word.isupper() or word.lower() in _spelling()["kept"]:
        return ()
    first, rest = word[0], word[1:]
    heard = [first + letters.sub(sound, rest, count=1) for letters, sound in _sounds()]
    return tuple(sorted({spelled for spelled in [*heard, word.translate(_BARE)] if spelled != word}))
