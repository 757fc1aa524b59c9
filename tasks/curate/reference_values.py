"""Completeness of references, and contradictions between them."""

import json
from collections.abc import Iterator
from typing import Any, Final

from schemas.references import ExtractionFields

_VALUES_OF_AN_EXTRACTION: Final = 1 + len(ExtractionFields.model_fields)
"""The rating and the ten fields."""


def count_known(task: str, reference: str) -> tuple[int, bool]:
    """Return the number of values that a reference knows, and whether it is complete."""
    leaves = [value for _, value in _leaves(json.loads(reference), ())]
    known = sum(value is not None for value in leaves)
    return known, known == len(leaves) and (task != "extraction" or known >= _VALUES_OF_AN_EXTRACTION)


def contradict(first: str, second: str) -> bool:
    """Return whether two references of a task know different values of the same thing."""
    if first == second:
        return False
    one, other = (dict(_leaves(json.loads(reference), ())) for reference in (first, second))
    # A part that is null as a whole is unknown, whatever the other has in its place.
    known = [{place: value for place, value in leaves.items() if value is not None} for leaves in (one, other)]
    return any(known[0][place] != known[1][place] for place in known[0].keys() & known[1].keys())


def _leaves(value: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*place, key))
    else:
        yield place, value
