"""What shoppers write: sentences that say what happened, in the spelling of whoever types them."""

import random
import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from tasks.synthesize.experience import Experience
from tasks.synthesize.market import Thing

PATTERNS_FILE: Final = Path(__file__).resolve().parents[2] / "data" / "reviews" / "patterns.toml"
HAPPY_EMOJI: Final = ("👏", "😍", "👍")
SAD_EMOJI: Final = ("😡", "😞", "👎")


@dataclass(frozen=True)
class Style:
    """How one shopper types, in every review."""

    drops_accents: bool
    small_letters: bool
    shouts_when_angry: bool
    abbreviates: bool
    misspells: bool
    exclaims: bool
    emoji: bool


def draw_style(generator: random.Random) -> Style:
    """Draw a shopper's way of typing; about four in ten type with every accent and capital in place."""
    return Style(
        drops_accents=generator.random() < 0.28,
        small_letters=generator.random() < 0.18,
        shouts_when_angry=generator.random() < 0.12,
        abbreviates=generator.random() < 0.18,
        misspells=generator.random() < 0.20,
        exclaims=generator.random() < 0.25,
        emoji=generator.random() < 0.08,
    )


def write_message(experience: Experience, thing: Thing, days_late: int, style: Style, generator: random.Random) -> str:
    """Write a review that tells every issue, and whose every word is true of the experience.

    Args:
        experience: What is to be told.
        thing: What was bought.
        days_late: Whole days past the promised date, where the order was late.
        style: How the shopper types.
        generator: Chooses sentences.
    """
    told = _complain(experience, generator) if experience.issues else _praise(experience, generator)
    sentences = [sentence.format_map(_words(thing, days_late)) for sentence in told]
    end = generator.choice(("!", "!!", "!!!") if style.exclaims else (".", ".", ""))
    return _type(". ".join(sentences) + end, experience, style, generator)


def write_title(experience: Experience, style: Style, generator: random.Random) -> str:
    """Write the few words above a review."""
    return _type(generator.choice(_patterns()["titles"][str(experience.score)]), experience, style, generator)


@cache
def _patterns() -> dict[str, Any]:
    return tomllib.loads(PATTERNS_FILE.read_text(encoding="utf-8"))


def _praise(experience: Experience, generator: random.Random) -> list[str]:
    patterns = _patterns()
    if experience.score == 3:
        return [generator.choice(patterns["lukewarm"]["sentences"]), _closing(experience, generator)]
    if generator.random() < 0.2:
        return [generator.choice(patterns["brief"][str(experience.score)])]
    others = generator.sample(("delivery", "seller", "price"), k=generator.choice((0, 1, 1, 2)))
    praises = [generator.choice(patterns["praises"][aspect]) for aspect in ("product", *others)]
    generator.shuffle(praises)
    closing = [_closing(experience, generator)] if generator.random() < 0.5 else []
    return praises + closing


def _complain(experience: Experience, generator: random.Random) -> list[str]:
    patterns = _patterns()
    complaints = [generator.choice(patterns["complaints"][issue]) for issue in experience.issues]
    if len(complaints) > 1 and generator.random() < 0.4:
        complaints = [" e ".join([complaints[0], *map(_continued, complaints[1:])])]
    if experience.score >= 3:
        praise = generator.choice(patterns["praises"][generator.choice(_good_aspects(experience))])
        complaints[0] = f"{praise}, mas {_continued(complaints[0])}"
    elif generator.random() < 0.25:
        complaints.insert(0, generator.choice(patterns["openings"]["angry"]))
    # Three stars say nothing of what the shopper means to do: the words have to.
    if experience.score == 3 or generator.random() < 0.35:
        complaints.append(_closing(experience, generator))
    return complaints


def _good_aspects(experience: Experience) -> list[str]:
    """What can be praised beside the complaint: nothing that went wrong, and no product that never came."""
    came = not {"lost", "canceled"} & set(experience.issues)
    aspects = ["product", "product", "delivery", "seller", "price"] if came else ["price"]
    return [aspect for aspect in aspects if not experience.has(aspect)]


def _closing(experience: Experience, generator: random.Random) -> str:
    intentions = {
        (True, True): "recommends_and_returns",
        (True, False): "only_recommends",
        (False, True): "only_returns",
        (False, False): "neither",
    }
    intention = intentions[experience.would_recommend, experience.repeat_intent]
    return str(generator.choice(_patterns()["closings"][intention]))


def _continued(sentence: str) -> str:
    return "{o}" + sentence[3:] if sentence.startswith("{O}") else sentence[0].lower() + sentence[1:]


def _words(thing: Thing, days_late: int) -> dict[str, str]:
    articles = ("a", "uma", "da", "à") if thing.feminine else ("o", "um", "do", "ao")
    return {
        **dict(zip(("o", "um", "do", "ao"), articles, strict=True)),
        "O": articles[0].upper(),
        "x": articles[0],
        "product": thing.noun,
        "delay": "1 dia" if days_late == 1 else f"{days_late} dias",
    }


def _type(text: str, experience: Experience, style: Style, generator: random.Random) -> str:
    """Type a text out the way its writer does."""
    if style.abbreviates:
        text = _respelt(text, _patterns()["abbreviations"])
    if style.misspells:
        text = _respelt(text, _patterns()["misspellings"])
    if style.small_letters:
        text = text.lower()
    if style.shouts_when_angry and experience.sentiment == "negative":
        text = text.upper()
    if style.drops_accents:
        text = "".join(letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter))
    if style.emoji and experience.sentiment != "neutral":
        text += " " + generator.choice(HAPPY_EMOJI if experience.sentiment == "positive" else SAD_EMOJI)
    return text


def _respelt(text: str, spellings: Mapping[str, str]) -> str:
    words = "|".join(map(re.escape, sorted(spellings, key=len, reverse=True)))
    return re.sub(
        rf"\b({words})\b", lambda match: _like(match[0], spellings[match[0].lower()]), text, flags=re.IGNORECASE
    )


def _like(original: str, respelt: str) -> str:
    return respelt.capitalize() if original[0].isupper() else respelt
