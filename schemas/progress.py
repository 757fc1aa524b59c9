"""How a long piece of work tells whoever watches it how far it has come."""

from typing import Protocol


class Progress(Protocol):
    """Called by a stage with the units done, the units in all, and a few words on what is under way."""

    def __call__(self, done: int, total: int, text: str) -> None:
        """Take one report."""


def silent(done: int, total: int, text: str) -> None:
    """Report to nobody, for tests and for callers with nobody watching."""
