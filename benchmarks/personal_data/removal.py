"""Removal of a value from a text: fewer than four letters or digits in a row are left of it at its own place.

Placeholders show what was kept: the scrubbed text between them is found again in the original, in its order, and all
else counts as removed. A value counts as removed if at its place no four of its letters and digits in a row were kept,
separators left out ("123.456.789-09" is "12345678909"), or, if it has fewer than four, not all of them. Where the
scrubbed text is not the original with placeholders in it, nothing counts as removed.
"""

import re
from typing import Final

from tasks.personal_data.scrub import KINDS

READABLE: Final = 4
"""Letters or digits in a row that count as readable."""
PLACEHOLDER: Final = re.compile(rf"\[(?:{'|'.join(KINDS)})\]")


def removed_places(text: str, scrubbed: str) -> frozenset[int] | None:
    """Return the places of the characters of a text that placeholders replaced.

    Args:
        text: Original text, without placeholders of its own.
        scrubbed: The text with placeholders.

    Returns:
        Indices into the text; None if the scrubbed text differs from it in anything but placeholders.
    """
    kept = map(re.escape, PLACEHOLDER.split(scrubbed))
    found = re.fullmatch("(.+?)".join(kept), text, re.DOTALL)
    if found is None:
        return None
    return frozenset(place for group in range(1, len(found.groups()) + 1) for place in range(*found.span(group)))


def is_removed(text: str, value: str, scrubbed: str) -> bool:
    """Return whether a value that is in a text once is not readable at its place in the scrubbed text."""
    places = removed_places(text, scrubbed)
    if places is None:
        return False
    start = text.index(value)
    signs = [place for place, sign in enumerate(value, start) if sign.isalnum()]
    longest = run = 0
    for place in signs:
        run = 0 if place in places else run + 1
        longest = max(longest, run)
    return longest < min(READABLE, len(signs))
