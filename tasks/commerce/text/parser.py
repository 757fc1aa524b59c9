"""Parser of the JSON object in a completion, however the model wrapped or broke it.

Completions are hostile: they are measured before they are parsed, and no string makes this module raise. Strict JSON is
tried first; then Brazilian numbers, wrappings of an answer (a code fence, a thought, chatter), and last json-repair.
"""

import json
import re
from collections import Counter
from collections.abc import Collection
from enum import Enum
from typing import Any, Final, NamedTuple, NoReturn

import orjson

from tasks.commerce.text.json_fields import read_number
from tasks.commerce.text.text_form import ramp

MAX_CHARACTERS, MAX_COMPLETION = 4_000, 100_000
"""Longest answer, ten times as long as a right one, and longest completion with its thoughts and spaces."""
MAX_BRACKETS: Final = 32  # Opening ones of an answer; deeply nested ones cannot be serialized again.
MAX_STARTS: Final = 8
MAX_REPAIR_CHARACTERS, MAX_REPAIR_BRACKETS, MAX_REPAIR_QUOTES = 800, 24, 64
"""json-repair's time grows with the square of the length, and again with brackets and quotes. Right answers have two
brackets and some forty quotes; within these caps the slowest text found takes 8 ms, without them seconds."""
PADDING: Final = (4_000, 800)
"""Characters around an object at which it is worth nothing, and up to which they count as chatter."""

_THINK, _END_OF_THOUGHT = "<think>", "</think>"
_FENCE: Final = re.compile(r"```[a-zA-Z]*\s(.*)```", re.DOTALL)
# Strings are matched to be skipped; an unclosed one takes the rest, so that no text is scanned twice.
_STRING_OR_NUMBER: Final = re.compile(
    r'"(?:[^"\\]|\\.)*+"?'
    r"|(?P<colon>:\s*)(?P<number>(?:-?R\$\s*)?-?\d[\d.]{0,20}(?:,\d{1,20})?(?:\s*%)?)(?=\s*(?:[,}\]]|\Z))",
    re.DOTALL | re.ASCII,
)
_JSON_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
# Bounded and anchored at a word's beginning: otherwise it would scan a long word once per letter.
_KEY: Final = re.compile(r"\b(\w{1,40})[\"']?\s{0,9}:")


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


class Reading(Enum):
    """Tolerance needed to read an object, beyond strict JSON, and what it leaves of the form and of the trust."""

    PORTUGUESE_NUMBER = "Portuguese number", 1.0, 1.0
    """A bare `4,5`, `R$ 1.234,56` or `80%`, which is right in Portuguese."""
    FENCED = "fenced", 0.9, 1.0
    THOUGHT = "thought", 0.9, 1.0
    """A closed block of thinking before it."""
    SURROUNDED = "surrounded", 0.7, 1.0
    REPEATED_KEY = "repeated key", 0.5, 0.95
    REPEATED_OBJECT = "repeated object", 0.2, 0.4
    CONTRADICTED = "contradicted", 0.1, 0.1
    """A key occurs twice, in one object or in two, with different values."""
    DRAFT = "draft", 0.35, 0.7
    """It stands in a thought that never ended."""
    REPAIRED = "repaired", 0.35, 0.7
    UNFINISHED = "unfinished", 0.2, 0.5
    """A truncated object: its missing part is unknown."""

    def __init__(self, _: str, form: float, trust: float) -> None:
        self.form, self.trust = form, trust


NOT_ALONE: Final = 0.43
"""Share that an answer keeps if something stands beside the object, or in fields that nobody asked for: nobody checks
what it says there, and whoever sends it on sends that too."""


class ParsedObject(NamedTuple):
    """An object and the quality of its notation."""

    value: dict[str, Any] | None
    needed: frozenset[Reading]
    """The readings needed; none for strict JSON and nothing else."""
    characters: int
    padding: int
    """Number of characters around it."""

    @property
    def cleanliness(self) -> float:
        """Grade the form alone, in [0, 1]: 1 for JSON and nothing else, in proportion to its share of the text."""
        if not self.needed:
            return float(self.value is not None)
        share = self.characters / (self.characters + self.padding)
        return min(reading.form for reading in self.needed) * share

    @property
    def trust(self) -> float:
        """Return the trust in the object's values, in [0, 1]; nobody finds an object in a long text."""
        if not self.needed:
            return float(self.value is not None)
        return min(reading.trust for reading in self.needed) * ramp(self.padding, *PADDING)

    def trust_alone(self, asked: Collection[str]) -> float:
        """Return the trust in the values of an answer that should be the object and nothing else, in [0, 1]."""
        alone = set(asked).issuperset(self.value or ()) and (not self.needed or Reading.SURROUNDED not in self.needed)
        return self.trust * (1.0 if alone else NOT_ALONE)


STRICT: Final[frozenset[Reading]] = frozenset()
NOTHING: Final = ParsedObject(None, STRICT, 0, 0)


def parse_object(completion: str) -> ParsedObject:
    """Parse the JSON object of a completion: strictly, then inside its wrapping, then by repair."""
    if len(completion) > MAX_COMPLETION:
        return NOTHING
    text = completion.strip()
    if len(text) <= MAX_CHARACTERS and (found := _strict(text)):
        return found
    needed = set[Reading]()
    if _THINK in text or _END_OF_THOUGHT in text:
        text, thought = _without_thought(text)
        needed.add(thought)
    if len(text) > MAX_CHARACTERS or "{" not in text or text.count("{") + text.count("[") > MAX_BRACKETS:
        return NOTHING
    plain = _STRING_OR_NUMBER.sub(_json_number, text)
    if plain != text:
        text = plain
        needed.add(Reading.PORTUGUESE_NUMBER)
    found = _strict(text) or _fenced(text) or _surrounded(text) or _repaired(text)
    return found._replace(needed=found.needed | needed) if found else NOTHING


def _strict(text: str) -> ParsedObject | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if type(value) is not dict or text.count("{") + text.count("[") > MAX_BRACKETS:
        return None
    # Each key has its colon: with no more colons than keys, no duplicate key was lost.
    needed = STRICT if text.count(":") == len(value) else _repetition(text)
    return ParsedObject(value, needed, len(text), 0)


def _repetition(text: str) -> frozenset[Reading]:
    """Detect in valid JSON keys repeated at any level, which parsers skip silently."""
    found = set[Reading]()

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, value in pairs:
            if key in kept:
                found.add(Reading.REPEATED_KEY if _same(kept[key], value) else Reading.CONTRADICTED)
            kept[key] = value
        return kept

    try:
        json.loads(text, object_pairs_hook=keep)
    except (ValueError, RecursionError):
        return frozenset({Reading.CONTRADICTED})
    return frozenset(found)


def _same(value: object, other: object) -> bool:
    """Compare as JSON does: true is not 1."""
    return json.dumps(value, sort_keys=True) == json.dumps(other, sort_keys=True)


def _without_thought(text: str) -> tuple[str, Reading]:
    """Return the text after the last thought; if no answer follows, all of it without the tags."""
    _, closed, answer = text.rpartition(_END_OF_THOUGHT)
    if closed and "{" in answer and _THINK not in answer:
        return answer.strip(), Reading.THOUGHT
    return text.replace(_THINK, " ").replace(_END_OF_THOUGHT, " ").strip(), Reading.DRAFT


def _json_number(match: re.Match[str]) -> str:
    """Convert a Portuguese number to JSON; leave strings and JSON's own numbers unchanged."""
    if match["colon"] is None or _JSON_NUMBER.fullmatch(match["number"]):
        return match[0]
    number = read_number(match["number"])
    return match[0] if number is None else f"{match['colon']}{number!r}"


def _fenced(text: str) -> ParsedObject | None:
    fence = _FENCE.fullmatch(text)
    found = _strict(fence[1].strip()) if fence else None
    return found._replace(needed=found.needed | {Reading.FENCED}) if found else None


def _surrounded(text: str) -> ParsedObject | None:
    """Read the first non-empty object, and compare it with those that follow."""
    found: list[ParsedObject] = []
    start = text.find("{")
    for _ in range(MAX_STARTS):
        if start < 0:
            break
        try:
            end = _DECODER.raw_decode(text, start)[1]
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        read = _strict(text[start:end])
        found += [read] if read and read.value else []
        start = text.find("{", end)
    if not found:
        return None
    first, *others = found
    needed = first.needed.union(
        {Reading.SURROUNDED}, *(_comparison(first.value or {}, each.value or {}) for each in others)
    )
    return ParsedObject(first.value, needed, first.characters, len(text) - first.characters)


def _comparison(first: dict[str, Any], second: dict[str, Any]) -> set[Reading]:
    common = first.keys() & second.keys()
    if not common:
        return set()
    agree = all(_same(first[key], second[key]) for key in common)
    return {Reading.REPEATED_OBJECT if agree else Reading.CONTRADICTED}


def _repaired(text: str) -> ParsedObject | None:
    from json_repair import repair_json

    start, end = text.find("{"), text.rfind("}") + 1
    broken = text[start : end if end > start else len(text)][:MAX_REPAIR_CHARACTERS]
    if sum(map(broken.count, "{[()]}")) > MAX_REPAIR_BRACKETS or sum(map(broken.count, "\"'“”")) > MAX_REPAIR_QUOTES:
        return None
    try:
        value = repair_json(broken, return_objects=True, skip_json_loads=True)
        if isinstance(value, list):
            value = next((item for item in value if isinstance(item, dict)), None)
        # Values that cannot be serialized again are refused: a lone surrogate, an integer beyond 64 bits.
        value = orjson.loads(orjson.dumps(value))
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, AssertionError, RecursionError):
        return None
    if not isinstance(value, dict) or not value:
        return None
    needed = {Reading.REPAIRED}
    if broken.count("{") > broken.count("}"):
        needed.add(Reading.UNFINISHED)
    keys = Counter(_KEY.findall(broken))
    if any(keys[key] > 1 for key in value):
        # A broken object with two values for one key is ambiguous.
        needed.add(Reading.CONTRADICTED)
    return ParsedObject(value, frozenset(needed), len(broken), len(text) - len(broken))
