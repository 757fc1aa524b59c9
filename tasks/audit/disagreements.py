"""Where reward and people differ most: what a person reads first to find the bug."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.documents import ScoredRollout
from tasks.audit.sheet import ScoredItem


@dataclass(frozen=True)
class Judged:
    """A completion of the sheet with its scores and its reward."""

    item: ScoredItem
    rollout: ScoredRollout


def worst_disagreements(judged: Sequence[Judged], count: int) -> tuple[Judged, ...]:
    """Return the completions whose places in the two orders lie furthest apart, the worst first.

    Args:
        judged: Completions of one task.
        count: How many at most; what has the same place in both orders is none.
    """
    import numpy as np
    from scipy.stats import rankdata

    rewards = rankdata([round(row.rollout.reward, 9) for row in judged])
    scores = rankdata([row.item.score for row in judged])
    furthest = np.argsort(-np.abs(rewards - scores), kind="stable")
    return tuple(judged[place] for place in furthest[:count] if rewards[place] != scores[place])
