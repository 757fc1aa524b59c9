"""One step's rollouts, from sampling until TRL turns them into tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, pstdev

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
    feedback: list[tuple[int, int]] | None = None
    """Start and end of the tokens in each completion that the policy was shown, equal if it was shown none; None if all
    have one turn."""

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
        """Return the standard deviation of the total rewards in each group.

        Args:
            own: Exclude substituted reference answers.
        """
        given = [
            self.corrected[start : start + self.generations] for start in range(0, len(self.rows), self.generations)
        ]
        return [
            pstdev(reward for reward, is_given in zip(rewards, of_group, strict=True) if not (own and is_given))
            for rewards, of_group in zip(self.group_rewards(), given, strict=True)
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
        return RolloutGroups(
            rows=[self.rows[place] for place in places],
            prompt_ids=[self.prompt_ids[place] for place in places],
            completion_ids=[self.completion_ids[place] for place in places],
            log_probabilities=None
            if self.log_probabilities is None
            else [self.log_probabilities[place] for place in places],
            scored=[self.scored[place] for place in places],
            rewards=self.rewards[list(places)],
            weights=self.weights,
            truncated=[self.truncated[place] for place in places],
            corrected=[self.corrected[place] for place in places],
            generations=1,
            feedback=None if self.feedback is None else [self.feedback[place] for place in places],
        )

    def at_groups(self, groups: Sequence[int]) -> "RolloutGroups":
        """Return the completions of some groups, each a group of its own."""
        return self.at([group * self.generations + place for group in groups for place in range(self.generations)])

    def share(self, rank: int, count: int) -> "RolloutGroups":
        """Return the groups that one of `count` processes learns from, as many for each, in their order."""
        if count == 1:
            return self
        size = len(self.rows) // count
        return replace(self.at(range(rank * size, (rank + 1) * size)), generations=self.generations)

    def with_answers(
        self,
        places: Sequence[int],
        completion_ids: Sequence[list[int]],
        scored: Sequence[ScoredRollout],
        rewards: torch.Tensor,
    ) -> "RolloutGroups":
        """Return these rollouts with some completions replaced by reference answers.

        Args:
            places: Indices of the replaced completions.
            completion_ids: The tokens of each answer.
            scored: Each answer with its reward.
            rewards: The components of the answers' rewards, (places, components).
        """
        new_rewards = self.rewards.clone()
        new_rewards[list(places)] = rewards
        given = dict(zip(places, zip(completion_ids, scored, strict=True), strict=True))
        unknown = [float("nan")]
        return replace(
            self,
            completion_ids=[given[n][0] if n in given else ids for n, ids in enumerate(self.completion_ids)],
            scored=[given[n][1] if n in given else rollout for n, rollout in enumerate(self.scored)],
            rewards=new_rewards,
            truncated=[cut and n not in given for n, cut in enumerate(self.truncated)],
            corrected=[was or n in given for n, was in enumerate(self.corrected)],
            feedback=None
            if self.feedback is None
            else [(0, 0) if n in given else span for n, span in enumerate(self.feedback)],
            # TRL applies no correction to tokens without a sampling probability.
            log_probabilities=None
            if self.log_probabilities is None
            else [
                unknown * len(given[n][0]) if n in given else values for n, values in enumerate(self.log_probabilities)
            ],
        )

    def with_groups_of(self, others: "RolloutGroups", places: Mapping[int, int]) -> "RolloutGroups":
        """Return these rollouts with some groups replaced.

        Args:
            others: Source of the new groups.
            places: Index of the group of `others` that replaces each group of these rollouts.
        """
        taken = [(others, places[group]) if group in places else (self, group) for group in range(len(self.group_rows))]
        spans = [(of, slice(group * self.generations, (group + 1) * self.generations)) for of, group in taken]
        return RolloutGroups(
            rows=[row for of, span in spans for row in of.rows[span]],
            prompt_ids=[ids for of, span in spans for ids in of.prompt_ids[span]],
            completion_ids=[ids for of, span in spans for ids in of.completion_ids[span]],
            log_probabilities=None
            if self.log_probabilities is None
            else [values for of, span in spans for values in (of.log_probabilities or ())[span]],
            scored=[rollout for of, span in spans for rollout in of.scored[span]],
            rewards=torch.cat([of.rewards[span] for of, span in spans]),
            weights=self.weights,
            truncated=[cut for of, span in spans for cut in of.truncated[span]],
            corrected=[is_answer for of, span in spans for is_answer in of.corrected[span]],
            feedback=None
            if self.feedback is None
            else [shown for of, span in spans for shown in (of.feedback or ())[span]],
            generations=self.generations,
        )
