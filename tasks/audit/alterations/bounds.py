"""Bounds that the reward of an altered answer must keep."""

import math
from typing import Final, Literal, NamedTuple

TOLERANCE: Final = 1e-6
BoundKind = Literal["at most", "at least", "at most of", "at least of", "costs", "equal"]


class Bound(NamedTuple):
    """What the reward of an altered answer must keep: a value, or a share or distance of the right answer's."""

    kind: BoundKind
    value: float = 0.0

    def excess(self, reward: float, beside: float) -> float:
        """Return by how much a reward misses the bound; 0 or less where it keeps it, infinite where it is NaN."""
        found = {
            "at most": reward - self.value,
            "at least": self.value - reward,
            "at most of": reward - self.value * beside,
            "at least of": self.value * beside - reward,
            "costs": self.value - (beside - reward),
            "equal": abs(reward - beside) - self.value,
        }[self.kind]
        return math.inf if math.isnan(found) else found

    def __str__(self) -> str:
        return f"{self.kind} {self.value:g}"


NOTHING_EARNED: Final = Bound("at most", 0.15)
"""A text without content earns less than the weight of any task's main content."""
WRONG: Final = Bound("at most", 0.5)
"""Of a well-formed answer with wrong content: its user would be better off without one."""
COSTLY, UNSENDABLE = Bound("at most of", 0.7), Bound("at most of", 0.5)
"""Of a good answer's reward, where it was made bad, or is not to be sent at all."""
ERROR_COST: Final = Bound("costs", 0.05)  # Of an error for which a person would deduct a point.
EQUAL: Final = Bound("equal")
