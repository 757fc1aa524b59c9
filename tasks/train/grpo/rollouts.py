"""One step's rollouts, from sampling until TRL turns them into tensors, and TRL's batches of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from typing import Any

import torch

from schemas.documents import ScoredRollout
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName


@dataclass(frozen=True)
class SampledRollout:
    """Completion of a prompt, with all that training knows of it."""

    row: PromptRow
    """The prompt."""
    prompt_ids: list[int]
    completion_ids: list[int]
    log_probabilities: list[float] | None
    """Sampling log-probability of each token, from vLLM; None from transformers."""
    scored: ScoredRollout
    """The completion with its reward."""
    components: list[float]
    """Components of the reward as trained on, in the registry's order; NaN if one is of another task."""
    truncated: bool
    """Whether the completion was cut off at the token limit."""
    corrected: bool = False
    """Whether it is the reference answer in place of the policy's own."""

    def with_answer(self, ids: list[int], scored: ScoredRollout, components: list[float]) -> "SampledRollout":
        """Return the rollout with the reference answer in place of the policy's."""
        # TRL applies no correction to tokens without a sampling probability.
        unknown = None if self.log_probabilities is None else [float("nan")] * len(ids)
        return replace(
            self,
            completion_ids=ids,
            log_probabilities=unknown,
            scored=scored,
            components=components,
            truncated=False,
            corrected=True,
        )


@dataclass(frozen=True)
class RolloutGroups:
    """Groups of rollouts: the first is of the first prompt, and so on."""

    groups: list[list[SampledRollout]]
    weights: Sequence[float]
    """Weight of each component of the reward."""

    @property
    def rollouts(self) -> list[SampledRollout]:
        """Return all rollouts, group by group."""
        return [rollout for group in self.groups for rollout in group]

    @property
    def rows(self) -> list[PromptRow]:
        """Return the prompt of each group."""
        return [group[0].row for group in self.groups]

    def rewards(self) -> list[list[float]]:
        """Return the total rewards of each group as trained on."""
        components = torch.tensor([rollout.components for rollout in self.rollouts])
        totals = iter((components * torch.tensor(self.weights)).nansum(dim=1).tolist())
        return [[next(totals) for _ in group] for group in self.groups]

    def spreads(self, *, own: bool = False) -> list[float]:
        """Return the standard deviation of the total rewards in each group; of the policy's `own` completions alone."""
        return [
            pstdev(reward for reward, rollout in zip(rewards, group, strict=True) if not (own and rollout.corrected))
            for rewards, group in zip(self.rewards(), self.groups, strict=True)
        ]

    def own_rewards(self) -> dict[TaskName, float]:
        """Return the mean reward of each task's completions, without substituted reference answers."""
        by_task: dict[TaskName, list[float]] = {}
        for rollout in self.rollouts:
            if not rollout.corrected:
                by_task.setdefault(rollout.row.task, []).append(rollout.scored.reward)
        return {task: fmean(rewards) for task, rewards in by_task.items()}

    def replaced(self, groups: Mapping[int, list[SampledRollout]]) -> "RolloutGroups":
        """Return these groups with some of them replaced."""
        return replace(self, groups=[groups.get(place, group) for place, group in enumerate(self.groups)])


def whole_batch(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a batch as it was before TRL split it into passes."""

    def joined(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [item for part in parts for item in part[name]]
        return torch.cat([part[name] for part in parts]) if torch.is_tensor(value) and value.dim() else value

    return {name: joined(name, value) for name, value in parts[0].items()}


def before_shuffle(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a batch in the order that TRL's shuffle, by torch's next random numbers, turns into that of the batch."""
    with torch.random.fork_rng(devices=[]):
        places = torch.randperm(len(next(value for value in batch.values() if value is not None))).argsort()

    def ordered(value: Any) -> Any:
        if isinstance(value, list):
            return [value[place] for place in places.tolist()]
        return value[places] if torch.is_tensor(value) and value.dim() else value

    return {name: ordered(value) for name, value in batch.items()}
