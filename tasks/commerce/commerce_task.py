"""What every commerce task is: examples, a reference answer, a reward of named components, and a metric."""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from schemas.documents import Rollout
from schemas.store import Store
from schemas.tasks import SpecName, TaskName
from tasks.commerce.example import Example
from tasks.commerce.sandbox import Databases

Reference = Mapping[str, Any]


class Score(NamedTuple):
    """The components of one completion's reward."""

    components: Mapping[str, float]
    """Each component of the task, in [0, 1]."""
    parsed: dict[str, Any] | None = None
    """The object read from the completion, where the task asks for one and one was found."""


class ExampleMaker(Protocol):
    """Makes the examples of a task."""

    def __call__(self, store: Store, generator: random.Random, count: int) -> Iterator[Example]:
        """Yield at most `count` examples, fewer where the store knows too little, no two with the same prompt."""
        ...


class Scorer(Protocol):
    """Scores a completion; no string makes it raise."""

    def __call__(self, completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        """Return the components of the completion's reward; `databases` is read by sql_qa only."""
        ...


class Metric(Protocol):
    """Measures ground truth that is not a reward."""

    def __call__(self, rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:
        """Return figures in [0, 1] over the rollouts with references; empty where none has one.

        Args:
            rollouts: Rollouts of one task.
            databases: Read by sql_qa only.
        """
        ...


@dataclass(frozen=True)
class Reward:
    """A reward of named components."""

    weights: Mapping[str, float]
    """The weight of each component; a negative one makes it a penalty, and the others sum to 1."""
    score: Scorer

    def total(self, components: Mapping[str, float]) -> float:
        """Return the weighted sum of the components, held in [0, 1]."""
        total = math.fsum([weight * components[name] for name, weight in self.weights.items()])
        return min(max(total, 0.0), 1.0)


@dataclass(frozen=True)
class CommerceTask:
    """One task: its prompts, its reference answer, its reward and its ground truth together."""

    name: TaskName
    system: str
    """The system prompt, in Portuguese."""
    examples: ExampleMaker
    answer: Callable[[Reference], str]
    """A fully correct completion made from a reference; what the reference does not know is answered plausibly."""
    rewards: Mapping[SpecName, Reward]
    """The task's reward under each specification."""
    metric: Metric


def fill_unknown(components: Mapping[str, float | None], weights: Mapping[str, float]) -> dict[str, float]:
    """Give each component whose reference is unknown the weighted mean of the known ones.

    The reward is then that of the known components alone, as if their weights were scaled to sum to 1.

    Args:
        components: Values in [0, 1], or None where the reference does not tell; at least one is known.
        weights: The weight of each component.
    """
    known = {name: value for name, value in components.items() if value is not None}
    if len(known) == len(components):
        return known
    mean = math.fsum(weights[name] * value for name, value in known.items()) / math.fsum(
        weights[name] for name in known
    )
    return {name: min(mean, 1.0) if value is None else value for name, value in components.items()}
