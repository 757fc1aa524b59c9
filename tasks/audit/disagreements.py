"""Largest disagreements of reward and people: the first place to look for a bug."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.documents import ScoredRollout
from schemas.tasks import TaskName
from tasks.audit.sheet import ScoredItem


@dataclass(frozen=True)
class ScoredCompletion:
    """Completion of the sheet with its scores and its reward."""

    item: ScoredItem
    rollout: ScoredRollout


@dataclass(frozen=True)
class Disagreement:
    """Completion ranked differently by reward and by score."""

    judged: ScoredCompletion
    places: float
    """Rank by reward minus rank by score within its task; negative if the reward ranks it lower."""
    of: int

    @property
    def share(self) -> float:
        """Return the rank difference as a share of the task's completions, comparable between tasks."""
        return abs(self.places) / self.of


def worst_disagreements(judged: Sequence[ScoredCompletion], count: int) -> tuple[Disagreement, ...]:
    """Return the completions with the largest rank differences, the worst first."""
    from scipy.stats import rankdata

    by_task: dict[TaskName, list[ScoredCompletion]] = {}
    for row in judged:
        by_task.setdefault(row.rollout.task, []).append(row)
    found = []
    for of_task in by_task.values():
        rewards = rankdata([round(row.rollout.reward, 9) for row in of_task])
        scores = rankdata([row.item.score for row in of_task])
        places = (rewards - scores).tolist()
        found += [Disagreement(row, by, len(of_task)) for row, by in zip(of_task, places, strict=True) if by]
    return tuple(sorted(found, key=lambda disagreement: -disagreement.share)[:count])
