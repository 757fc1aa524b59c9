"""Commerce rewards as TRL reward functions: one per component, NaN outside its task.

With TRL's `multi_objective_aggregation="normalize_then_sum"` this is GDPO (2601.05242, 3.1) per component and per task.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from schemas.documents import ScoredRollout
from schemas.tables.prompts import PromptRow
from schemas.tasks import SpecName
from tasks.commerce import registry
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import Completion

RewardFunction = Callable[..., list[float | None]]


class ComponentRewards:
    """Scorer of completions that serves one batch's components to TRL's reward functions."""

    def __init__(self, databases: Databases, spec: SpecName) -> None:
        self.databases = databases
        """Copies of the store that queries are run on."""
        self.spec = spec
        """The reward specification."""
        parts = registry.component_rewards(spec)
        self._parts = [(task, component) for task, component, _ in parts]
        self.weights = [weight for *_, weight in parts]
        """Weight of each component, in the registry's order."""
        self._batch: list[list[float]] = []

    def score(self, rows: Sequence[PromptRow], completions: Sequence[Completion]) -> list[ScoredRollout]:
        """Score each completion of a prompt."""
        return [
            registry.score_rollout(completion.as_rollout(row), self.databases, self.spec)
            for row, completion in zip(rows, completions, strict=True)
        ]

    def components(self, scored: Sequence[ScoredRollout]) -> list[list[float]]:
        """Return every component of each rollout as trained on; NaN if it is of another task."""
        return [
            [rollout.components[component] if rollout.task == task else math.nan for task, component in self._parts]
            for rollout in scored
        ]

    def set_batch(self, components: list[list[float]]) -> None:
        """Set the components of the batch that TRL's functions are asked for next."""
        self._batch = components

    def functions(self) -> list[RewardFunction]:
        """Return one function per component, in the registry's order; each answers from the batch set last."""
        return [self._function(place, f"{task}.{component}") for place, (task, component) in enumerate(self._parts)]

    def _function(self, place: int, name: str) -> RewardFunction:
        def reward(**_: Any) -> list[float | None]:
            return [None if math.isnan(values[place]) else values[place] for values in self._batch]

        reward.__name__ = name
        return reward
