"""Progress reports of long work."""

from typing import Protocol


class Progress(Protocol):
    """Called by a stage with the units done, the units in total, and a few words on the current work."""

    def __call__(self, done: int, total: int, text: str) -> None:
        """Receive one report."""


def silent(done: int, total: int, text: str) -> None:
    """Discard reports, for tests and for callers without a display."""
