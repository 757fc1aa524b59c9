"""Where reward and people differ most: what a person reads first to find the bug."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.documents import ScoredRollout
from schemas.tasks import TaskName
from tasks.audit.sheet import ScoredItem


@dataclass(frozen=True)
class Judged:
    """A completion of the sheet with its scores and its reward."""

    item: ScoredItem
    rollout: ScoredRollout


@dataclass(frozen=True)
class Disagreement:
    """A completion that stands elsewhere by its reward than by its score."""

    judged: Judged
    """The completion with its scores and its reward."""
    places: float
    """How many places higher it stands among its task's rewards than among its scores; negative for lower."""
    of: int
    """Completions of its task."""

    @property
    def share(self) -> float:
        """How far apart the places are, as a share of the task's completions: what lets tasks be compared."""
        return abs(self.places) / self.of


def worst_disagreements(judged: Sequence[Judged], count: int) -> tuple[Disagreement, ...]:
    """Return the completions whose places in the two orders lie furthest apart, the worst first.

    Args:
        judged: Completions of one task or of several; only those of the same task are put in order.
        count: How many at most; what has the same place in both orders is none.
    """
    from scipy.stats import rankdata

    by_task: dict[TaskName, list[Judged]] = {}
    for row in judged:
        by_task.setdefault(row.rollout.task, []).append(row)
    found = []
    for of_task in by_task.values():
        rewards = rankdata([round(row.rollout.reward, 9) for row in of_task])
        scores = rankdata([row.item.score for row in of_task])
        places = (rewards - scores).tolist()
        found += [Disagreement(row, by, len(of_task)) for row, by in zip(of_task, places, strict=True) if by]
    return tuple(sorted(found, key=lambda disagreement: -disagreement.share)[:count])
