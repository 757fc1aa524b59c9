"""Variety of answers: a model that gives one answer to every prompt is useless, whatever that answer earns."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from schemas.documents import Rollout
from tasks.commerce.registry import TASKS

FORM: Final = re.compile(r"""[\s,;:.!?"'`{}\[\]()]+""")
"""Characters that make no other answer, as case does not."""


class Variety(NamedTuple):
    """Effective number of a task's answers beside that of its reference answers."""

    answers: float
    references: float

    @property
    def share(self) -> float:
        """Return what the answers' number is above one as a share of the references', in [0, 1]; 0 for a constant."""
        if self.references <= 1 + 1e-9:
            return 1.0
        return min(1.0, (self.answers - 1) / (self.references - 1))


def variety_of(rollouts: Sequence[Rollout]) -> Variety | None:
    """Return the variety of one task's answers, each prompt's first; None without references."""
    known = {rollout.prompt_id: rollout for rollout in reversed(rollouts) if rollout.reference}
    if not known:
        return None
    right = [TASKS[each.task].answer(each.reference or {}) for each in known.values()]
    return Variety(effective_number([each.completion for each in known.values()]), effective_number(right))


def effective_number(texts: Sequence[str]) -> float:
    """Return how many equally frequent texts would be as uncertain: the exponential of Shannon's entropy.

    It is 1 where all are the same and their number where all differ (Hill, 1973, "Diversity and evenness", order 1).
    Texts that differ in case, spacing, punctuation, quotes or brackets alone are the same: one answer with and without
    a stray comma is one answer.

    Args:
        texts: One text or more.
    """
    counts = Counter(" ".join(FORM.sub(" ", text.casefold()).split()) for text in texts)
    return math.exp(-sum(count / len(texts) * math.log(count / len(texts)) for count in counts.values()))
