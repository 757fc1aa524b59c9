"""Candidates that a reward pays for and nothing calls bad, the best few of each mechanism: what a judge is asked of."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tasks.audit.attack.candidate import Candidate
from tasks.audit.attack.measures import Measured

FEW: Final = 3
LEAST_PAID: Final = 2
"""Training prompts on which a candidate must be paid for."""


class Unopposed:
    """The candidates of one search."""

    def __init__(self) -> None:
        """Begin without any."""
        self._cells: dict[tuple[str, ...], list[tuple[Candidate, float]]] = {}

    def note(self, candidate: Candidate, measured: Sequence[Measured]) -> None:
        """Keep a candidate where it is paid for, called bad nowhere, and among the best of its mechanism."""
        paid = [each for each in measured if each.unopposed]
        if len(paid) < LEAST_PAID or any(each.bad for each in measured):
            return
        cell = self._cells.setdefault(candidate.labels, [])
        cell.append((candidate, sum(min(each.share, 1.0) for each in paid)))
        # The sort is stable: of equal ones the first stay.
        cell.sort(key=lambda kept: -kept[1])
        del cell[FEW:]

    def __iter__(self) -> Iterator[Candidate]:
        """Yield every mechanism's best, then every second; short chains first, since they say what pays."""
        for place in range(FEW):
            kept = [cell[place] for cell in self._cells.values() if len(cell) > place]
            kept.sort(key=lambda one: (len(one[0].operations), -round(one[1], 6), one[0].identity))
            yield from (candidate for candidate, _ in kept)

    def state(self) -> list[Any]:
        """Return the candidates as JSON."""
        return [[candidate.document(), paid] for cell in self._cells.values() for candidate, paid in cell]

    def restore(self, state: Sequence[tuple[Mapping[str, Any], float]]) -> None:
        """Take up a state that was kept."""
        self._cells = {}
        for document, paid in state:
            candidate = Candidate.read(document)
            self._cells.setdefault(candidate.labels, []).append((candidate, paid))
