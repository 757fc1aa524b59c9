"""Progress reports of long work."""

from collections.abc import Callable

Progress = Callable[[int, int, str], None]
"""Called by a stage with the units done, the units in total, and a few words on the current work."""


def silent(done: int, total: int, text: str) -> None:
    """Discard reports, for tests and for callers without a display."""
