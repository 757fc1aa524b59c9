"""The commerce rewards in the form that TRL wants: one function a component, abstaining outside its task.

With TRL's `multi_objective_aggregation="normalize_then_sum"` this is GDPO (2601.05242, 3.1) per component and per task.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from schemas.documents import Rollout, ScoredRollout
from schemas.tasks import SpecName
from tasks.commerce import registry
from tasks.commerce.sandbox import Databases

RewardFunction = Callable[..., list[float | None]]


class ComponentRewards:
    """Scores each batch of completions once and deals the components out to their functions."""

    def __init__(self, databases: Databases, spec: SpecName) -> None:
        self._databases = databases
        self._spec = spec
        self._batch: Sequence[Any] | None = None
        self.scored: list[ScoredRollout] = []
        """The rollouts of the newest batch, in its order."""

    def functions(self) -> tuple[list[RewardFunction], list[float]]:
        """Return one reward function and one weight for each component of each task, in the registry's order."""
        parts = registry.component_rewards(self._spec)
        return [self._function(task, component) for task, component, _ in parts], [weight for *_, weight in parts]

    def _function(self, task: str, component: str) -> RewardFunction:
        def reward(completions: Sequence[Any], **columns: Any) -> list[float | None]:
            self._score(completions, columns)
            return [rollout.components[component] if rollout.task == task else None for rollout in self.scored]

        reward.__name__ = f"{task}.{component}"
        return reward

    def _score(self, completions: Sequence[Any], columns: dict[str, Any]) -> None:
        if completions is self._batch:
            return
        self.scored = [
            registry.score_rollout(
                Rollout(
                    prompt_id=prompt_id,
                    task=task,
                    prompt=prompt_text,
                    completion=messages[0]["content"],
                    reference=json.loads(reference),
                ),
                self._databases,
                self._spec,
            )
            for messages, prompt_id, task, prompt_text, reference in zip(
                completions,
                columns["prompt_id"],
                columns["task"],
                columns["prompt_text"],
                columns["reference"],
                strict=True,
            )
        ]
        self._batch = completions
