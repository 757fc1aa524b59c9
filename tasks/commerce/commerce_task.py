"""Commerce task interface: a reference answer, a reward of named components, and a metric."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    # These decide no reward, so a change of one must not be a new version of all rewards.
    from schemas.documents import Rollout
    from schemas.tasks import SpecName, TaskName
    from tasks.commerce.sandbox import Databases

Reference = Mapping[str, Any]


class Score(NamedTuple):
    """Components of one completion's reward."""

    components: Mapping[str, float]
    """Each component of the task, in [0, 1]."""
    parsed: dict[str, Any] | None = None
    """The object read from the completion, if the task requires one and one was found."""


class Scorer(Protocol):
    """Scoring function of completions; never raises, whatever the string."""

    def __call__(
        self, completion: str, prompt: str, reference: Reference | None, databases: "Databases | None"
    ) -> Score:
        """Return the components of the completion's reward; `databases` is read by sql_qa only."""
        ...


class Metric(Protocol):
    """Ground-truth metric, which is not a reward."""

    def __call__(self, rollouts: "Sequence[Rollout]", databases: "Databases | None") -> dict[str, float]:
        """Return metrics in [0, 1] over the rollouts with references; empty if none has one.

        Args:
            rollouts: Rollouts of one task.
            databases: Read by sql_qa only.
        """
        ...


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


@dataclass(frozen=True)
class CommerceTask:
    """One task: its system prompt, reference answer, reward and ground truth."""

    name: "TaskName"
    system: str
    """The system prompt, in Portuguese."""
    answer: Callable[[Reference], str]
    """A fully correct completion made from a reference; unknown values are answered plausibly."""
    rewards: "Mapping[SpecName, Reward]"
    """The task's reward under each specification."""
    metric: Metric


def fill_unknown(components: Mapping[str, float | None], weights: Mapping[str, float]) -> dict[str, float]:
    """Give each component with an unknown reference the weighted mean of the known ones.

    The reward then equals that of the known components alone, with their weights scaled to sum to 1.

    Args:
        components: Values in [0, 1], or None if the reference is unknown; at least one is known.
        weights: The weight of each component.
    """
    known = {name: value for name, value in components.items() if value is not None}
    if len(known) == len(components):
        return known
    mean = math.fsum(weights[name] * value for name, value in known.items()) / math.fsum(
        weights[name] for name in known
    )
    return {name: min(mean, 1.0) if value is None else value for name, value in components.items()}
