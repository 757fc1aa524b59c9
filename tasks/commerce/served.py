"""Answers as they are served: read strictly, checked against their request, and without what does not hold."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tasks.commerce.text.parser import parse_object


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


def serve_object(completion: str, checks: Mapping[str, Callable[[Any], bool]]) -> Served:
    """Read an answer that is to be one JSON object with exactly these fields, and nothing else."""
    found, needed = parse_object(completion)[:2]
    if found is None or needed:
        return Served(None, False, "a resposta não é só um objeto JSON")
    if found.keys() != checks.keys():
        return Served(None, False, f"os campos não são os pedidos: {', '.join(checks)}")
    if wrong := [name for name, holds in checks.items() if not holds(found[name])]:
        return Served(None, False, f"valores fora dos permitidos: {', '.join(wrong)}")
    return Served(written(found), True, None, found)


def written(found: Mapping[str, Any]) -> str:
    """Return an object as compact JSON."""
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))
