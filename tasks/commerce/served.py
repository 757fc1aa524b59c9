"""Answers as they are read and served: one JSON object whose list code checks item by item, and what of it holds."""

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import orjson


class Served(NamedTuple):
    """The part of an answer that is sent."""

    text: str | None
    """Text that may be shown and sent on; None where nothing may."""
    checked: bool
    """Whether all of the answer was checked against its request and holds."""
    reason: str | None
    """Why not, and what was left out, in Portuguese; None where all holds. It repeats no text of the answer."""
    parsed: dict[str, Any] | str | None = None
    """The same for a program, without what does not hold; None where nothing may be shown."""


def written(found: Mapping[str, Any]) -> str:
    """Return an object as compact JSON."""
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def read_evidence(completion: str, keys: AbstractSet[str], listed: str, longest: int) -> dict[str, Any] | None:
    """Return the object of just these keys, one of them a list, that any text of so many characters is; else None."""
    if len(completion) > longest:
        return None
    try:
        read = orjson.loads(completion)
    except ValueError:
        return None
    if type(read) is not dict or read.keys() != keys or type(read[listed]) is not list:
        return None
    # No value of a table or a profile has a colon, so that each further one belongs to a key that the reader has passed
    # over, or to a value that is none of theirs.
    pairs = len(keys) + sum([len(each) for each in read[listed] if type(each) is dict])
    return read if completion.count(":") == pairs else None
