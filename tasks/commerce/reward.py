"""Reward of named components: its weights, its scorer, and the share of an unknown component."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    # It decides no other task's reward, so a change of it must not be a new version of all rewards.
    from tasks.commerce.sql_qa.sandbox import Databases

Reference = Mapping[str, Any]


class Score(NamedTuple):
    """Components of one completion's reward."""

    components: Mapping[str, float]
    parsed: dict[str, Any] | None = None


Scorer = Callable[[str, str, Reference | None, "Databases | None"], Score]
"""Scores a completion of a prompt by its reference; never raises, whatever the string. The databases are sql_qa's."""


@dataclass(frozen=True)
class Reward:
    """Reward of named components."""

    weights: Mapping[str, float]
    """The weight of each component; a negative one makes it a penalty, and the others sum to 1."""
    score: Scorer

    def total(self, components: Mapping[str, float]) -> float:
        """Return the weighted sum of the components, clipped to [0, 1]."""
        total = math.fsum([weight * components[name] for name, weight in self.weights.items()])
        return min(max(total, 0.0), 1.0)


@dataclass(frozen=True, kw_only=True)
class StepReward(Reward):
    """Reward with a component that a step's other answers decide too; a completion scored alone keeps it whole."""

    component: str
    among: Callable[[Sequence[str]], Sequence[float]]
    """Returns the share of the component that each of a step's completions keeps, in [0, 1]."""


def fill_unknown(components: Mapping[str, float | None], weights: Mapping[str, float]) -> dict[str, float]:
    """Give each component with an unknown reference the mean of the known ones, by their weights."""
    known = {name: value for name, value in components.items() if value is not None}
    if len(known) == len(components):
        return known
    mean = math.fsum(weights[name] * value for name, value in known.items()) / math.fsum(
        weights[name] for name in known
    )
    return {name: min(mean, 1.0) if value is None else value for name, value in components.items()}
