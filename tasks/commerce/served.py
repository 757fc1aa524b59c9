"""Answers as they are served: read strictly, checked against their request, and without what does not hold."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


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
