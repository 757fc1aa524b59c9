"""The JSON object in a completion, however the model wrapped or broke it.

Completions are hostile: they are cut before they are parsed, and no string makes this module raise. Strict JSON is
tried first because it is the usual case and takes a microsecond.
"""

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NoReturn

import orjson

MAX_CHARACTERS: Final = 4_000
"""A completion is read this far; the longest right answer has a tenth of it."""
MAX_REPAIR_CHARACTERS: Final = 1_500
MAX_REPAIR_BRACKETS: Final = 12
"""json-repair takes seconds on thousands of open brackets, and right answers have one level."""
MAX_STARTS: Final = 8
"""Opening braces that are tried as the start of the object."""

# A number of a JSON value with a Portuguese decimal comma, such as `: 0,8}`.
_DECIMAL_COMMA: Final = re.compile(r"(:\s*-?\d{1,9}),(\d{1,9})(?=\s*[,}])")


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


class Reading(Enum):
    """What it took to read the object."""

    STRICT = "strict"
    """The whole completion was valid JSON, but for decimal commas, which are right in Portuguese."""
    SURROUNDED = "surrounded"
    """Valid JSON with something around it: chatter, a code fence, a second object."""
    REPAIRED = "repaired"
    """Broken JSON that json-repair made sense of."""
    NONE = "none"
    """No object."""


@dataclass(frozen=True)
class ParsedObject:
    """An object and how well it was written."""

    value: dict[str, Any] | None
    """The object; None where there is none."""
    reading: Reading
    share: float
    """The part of the completion's characters that is the object, in [0, 1]."""

    @property
    def cleanliness(self) -> float:
        """Grade the form alone, in [0, 1]: 1 for JSON and nothing else, up to 0.7 with chatter, up to 0.35 repaired."""
        ceilings = {Reading.STRICT: 1.0, Reading.SURROUNDED: 0.7, Reading.REPAIRED: 0.35, Reading.NONE: 0.0}
        return ceilings[self.reading] * self.share

    @property
    def trust(self) -> float:
        """Discount what is read from the object, in [0, 1]: a repaired object may say what its author did not."""
        return {Reading.REPAIRED: 0.7, Reading.NONE: 0.0}.get(self.reading, 1.0)


NOTHING: Final = ParsedObject(None, Reading.NONE, 0.0)


def parse_object(completion: str) -> ParsedObject:
    """Read the JSON object of a completion: strictly, then inside what surrounds it, then by repair."""
    whole = completion.strip()
    text = whole[:MAX_CHARACTERS]
    if "{" not in text:
        return NOTHING
    complete = len(whole) <= MAX_CHARACTERS
    if complete and (value := _strict(text)) is not None:
        return ParsedObject(value, Reading.STRICT, 1.0)
    text = _DECIMAL_COMMA.sub(r"\1.\2", text)
    if complete and (value := _strict(text)) is not None:
        return ParsedObject(value, Reading.STRICT, 1.0)
    return _surrounded(text, len(whole)) or _repaired(text, len(whole)) or NOTHING


def _strict(text: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _surrounded(text: str, length: int) -> ParsedObject | None:
    start = text.find("{")
    for _ in range(MAX_STARTS):
        if start < 0:
            return None
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        clean = _plain(value)
        if clean:
            return ParsedObject(clean, Reading.SURROUNDED, min((end - start) / length, 1.0))
        start = text.find("{", end)
    return None


def _repaired(text: str, length: int) -> ParsedObject | None:
    from json_repair import repair_json

    start = text.find("{")
    end = text.rfind("}") + 1
    broken = text[start : end if end > start else len(text)][:MAX_REPAIR_CHARACTERS]
    if broken.count("{") + broken.count("[") > MAX_REPAIR_BRACKETS:
        return None
    try:
        value = repair_json(broken, return_objects=True, skip_json_loads=True)
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, RecursionError):
        return None
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, dict)), None)
    clean = _plain(value)
    return ParsedObject(clean, Reading.REPAIRED, min(len(broken) / length, 1.0)) if clean else None


def _plain(value: object) -> dict[str, Any] | None:
    """Keep an object only if it can be written as JSON again: no lone surrogate, no integer beyond 64 bits."""
    if not isinstance(value, dict):
        return None
    try:
        plain: dict[str, Any] = orjson.loads(orjson.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return None
    return plain
