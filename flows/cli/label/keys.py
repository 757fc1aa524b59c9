"""Keys of the rater's screens: their names, the line that lists them, and rests of sequences that are no keys."""

import re
from collections.abc import Sequence
from typing import Final

from rich.text import Text
from textual.events import Key

from schemas.shown_text import as_shown

# Textual takes an escape sequence that it does not know, or whose rest is late, for the keys of its characters.
_BEGINS_A_SEQUENCE: Final = frozenset({"circumflex_accent", "left_square_bracket", "right_square_bracket"})
_SECONDS_OF_A_SEQUENCE: Final = 0.05


class SequenceRests:
    """Filter of the keys that are the rest of an escape sequence."""

    def __init__(self) -> None:
        """Know no sequence yet."""
        self._until = 0.0

    def drops(self, event: Key) -> bool:
        """Return whether a key is no key that somebody pressed."""
        if event.time < self._until:
            return True
        if event.key in _BEGINS_A_SEQUENCE:
            self._until = event.time + _SECONDS_OF_A_SEQUENCE
        return False


def key_name(event: Key) -> str:
    """Return the small letter or other character of a key, or a name in the place of one."""
    if event.is_printable and event.character is not None and "+" not in event.key:
        return event.character.lower()
    return event.key


def key_line(keys: Sequence[tuple[str, str]]) -> Text:
    """Return the line that says what each key does."""
    line = Text()
    for key, meaning in keys:
        line.append(f" {key} ", style="bold cyan")
        line.append(f"{meaning} ")
    return line


def hostile_text(text: str) -> Text:
    """Return a text of anybody's, as it can be shown."""
    return Text(re.sub(r"\s+\Z", "", as_shown(text)))
