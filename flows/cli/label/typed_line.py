"""Line of text that is being typed."""

import unicodedata
from dataclasses import dataclass, replace

from flows.cli.label.keys import Key


@dataclass(frozen=True)
class TypedLine:
    """A line of text and the position of the next character."""

    text: str
    """Its characters."""
    place: int
    """Number of characters before the cursor."""
    most: int
    """Maximum number of characters; input beyond it changes nothing."""

    def after(self, key: Key) -> "TypedLine":
        """Return the line after one more key."""
        before, behind = self.text[: self.place], self.text[self.place :]
        places = {"left": self.place - 1, "right": self.place + 1, "home": 0, "end": len(self.text)}
        if key.name in places:
            return replace(self, place=min(max(0, places[key.name]), len(self.text)))
        texts = {
            "text": (before + key.text, behind),
            "paste": (before + on_one_line(key.text), behind),
            "backspace": (before[:-1], behind),
            "delete": (before, behind[1:]),
            "clear": ("", behind),
        }
        return self._of(*texts[key.name]) if key.name in texts else self

    def _of(self, before: str, behind: str) -> "TypedLine":
        # Some terminals send a letter and its accent one after the other.
        before = unicodedata.normalize("NFC", before)
        return self if len(before + behind) > self.most else replace(self, text=before + behind, place=len(before))


def on_one_line(text: str) -> str:
    """Return a text without line breaks and invisible characters."""
    return "".join(sign for sign in " ".join(text.split()) if sign.isprintable())
