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
class RolloutGroups:
    """Groups of completions in a row: the first group is of the first prompt, and so on."""

    rows: list[PromptRow]
    """The prompt of each completion; equal within a group."""
    prompt_ids: list[list[int]]
    """The tokens of each completion's prompt."""
    completion_ids: list[list[int]]
    """The tokens of each completion."""
    log_probabilities: list[list[float]] | None
    """Sampling log-probability of each token, from vLLM; None from transformers."""
    scored: list[ScoredRollout]
    """Each completion with its reward."""
    rewards: torch.Tensor
    """Components of the reward as trained on, (completions, components); NaN if one is of another task."""
    weights: Sequence[float]
    """Weight of each component."""
    truncated: list[bool]
    """Whether each completion was cut off at the token limit."""
    corrected: list[bool]
    """Whether each completion is the reference answer in place of the policy's own."""
    generations: int
    """Completions per group."""

    @property
    def group_rows(self) -> list[PromptRow]:
        """Return the prompt of each group."""
        return self.rows[:: self.generations]

    def totals(self) -> torch.Tensor:
        """Return the total reward of each completion as trained on, (completions,)."""
        return (self.rewards * torch.tensor(self.weights, device=self.rewards.device)).nansum(dim=1)

    def group_rewards(self) -> list[list[float]]:
        """Return the total rewards of each group as trained on."""
        rewards = self.totals().tolist()
        return [rewards[start : start + self.generations] for start in range(0, len(rewards), self.generations)]

    def group_spreads(self, *, own: bool = False) -> list[float]:
        """Return the standard deviation of the total rewards in each group; of the policy's `own` completions alone."""
        return [
            pstdev(
                reward
                for reward, given in zip(rewards, self.corrected[group * self.generations :], strict=False)
                if not (own and given)
            )
            for group, rewards in enumerate(self.group_rewards())
        ]

    def own_rewards(self) -> dict[TaskName, float]:
        """Return the mean reward of each task's completions, without substituted reference answers."""
        by_task: dict[TaskName, list[float]] = {}
        for rollout, given in zip(self.scored, self.corrected, strict=True):
            if not given:
                by_task.setdefault(rollout.task, []).append(rollout.reward)
        return {task: fmean(rewards) for task, rewards in by_task.items()}

    def at(self, places: Sequence[int]) -> "RolloutGroups":
        """Return some of the completions, each a group of its own."""
        lists: dict[str, Any] = {
            name: values and [values[place] for place in places] for name, values in self._lists().items()
        }
        return replace(self, **lists, rewards=self.rewards[list(places)], generations=1)

    def _lists(self) -> dict[str, Any]:
        """Return the fields with a value of each completion, by name; log-probabilities may be None."""
        others = {"rewards", "weights", "generations"}
        return {name: values for name, values in vars(self).items() if name not in others}

    def at_groups(self, groups: Sequence[int]) -> "RolloutGroups":
        """Return the completions of some groups, each a group of its own."""
        return self.at([group * self.generations + place for group in groups for place in range(self.generations)])

    def with_answers(
        self,
        places: Sequence[int],
        completion_ids: Sequence[list[int]],
        scored: Sequence[ScoredRollout],
        rewards: torch.Tensor,
    ) -> "RolloutGroups":
        """Return these rollouts with some completions replaced by reference answers."""
        new = {name: list(values) for name, values in self._lists().items() if values is not None}
        new_rewards = self.rewards.clone()
        new_rewards[list(places)] = rewards
        for place, ids, rollout in zip(places, completion_ids, scored, strict=True):
            new["completion_ids"][place], new["scored"][place] = ids, rollout
            new["truncated"][place], new["corrected"][place] = False, True
            if self.log_probabilities is not None:
                # TRL applies no correction to tokens without a sampling probability.
                new["log_probabilities"][place] = [float("nan")] * len(ids)
        changed: dict[str, Any] = new
        return replace(self, **changed, rewards=new_rewards)

    def with_groups_of(self, others: "RolloutGroups", places: Mapping[int, int]) -> "RolloutGroups":
        """Return these rollouts with some groups replaced."""
        lists: dict[str, Any] = {
            name: values and [*values, *getattr(others, name)] for name, values in self._lists().items()
        }
        both = replace(self, **lists, rewards=torch.cat([self.rewards, others.rewards]))
        count = len(self.group_rows)
        groups = [count + places[group] if group in places else group for group in range(count)]
        return replace(both.at_groups(groups), generations=self.generations)


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
