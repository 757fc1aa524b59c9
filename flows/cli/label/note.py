"""Line of a note that is being typed."""

import unicodedata

from textual.widgets import Input

from tasks.audit.sheet import MOST_CHARACTERS


class Note(Input):
    """A line of text; input beyond the most that a sheet's cell holds changes nothing."""

    def __init__(self) -> None:
        """Make an empty line."""
        super().__init__(max_length=MOST_CHARACTERS, compact=True, select_on_focus=False)
        self.cursor_blink = False

    def replace(self, text: str, start: int, end: int) -> None:
        """Replace the characters from one place to another."""
        start, end = sorted((max(0, start), min(len(self.value), end)))
        # Some terminals send a letter and its accent one after the other.
        super().replace(unicodedata.normalize("NFC", self.value[:start] + text), 0, end)

    def put(self, text: str) -> None:
        """Put what is typed or pasted in the place of what is selected."""
        self.replace(text, *self.selection)


def on_one_line(text: str) -> str:
    """Return a text without line breaks and invisible characters."""
    return "".join(sign for sign in " ".join(text.split()) if sign.isprintable())
