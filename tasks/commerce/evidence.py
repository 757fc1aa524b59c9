"""Answers that carry their evidence: one JSON object, of whose list code checks each item."""

from collections.abc import Set as AbstractSet
from typing import Any

import orjson


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
