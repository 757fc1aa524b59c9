"""Choice of each step's rollouts: prompts, resampling, and substituted reference answers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from schemas.config.train import TrainConfig
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.train.grpo.rollouts import RolloutGroups, SampledRollout
from tasks.train.methods.guided_correction import corrections
from tasks.train.methods.task_weights import TaskWeights
from tasks.train.prompt_source import PromptSource

if TYPE_CHECKING:
    from tasks.train.grpo.generator import RolloutGenerator


class RolloutSampler:
    """Chooses each step's rollouts. Its state is saved with the checkpoint."""

    def __init__(
        self, recipe: TrainConfig, rows: Sequence[PromptRow], seed: int, generator: "RolloutGenerator"
    ) -> None:
        self._generator = generator
        self._recipe = recipe
        self._seed = seed
        self._source = PromptSource(rows, seed)
        weights = recipe.task_weights
        self._weights = TaskWeights(
            sorted({row.task for row in rows}), every=weights.every, rate=weights.rate, level=weights.level
        )
        self._resampled = 0

    def choose(self, step: int) -> tuple[RolloutGroups, list[SampledRollout]]:
        """Return the rollouts of a step, one group per prompt of the recipe's step, and the unused ones.

        Groups whose completions all earned the same are replaced by others of the same task (DAPO's dynamic sampling),
        within the budget of extra groups.
        """
        unused: list[SampledRollout] = []
        recipe = self._recipe
        if recipe.task_weights.applies_to == "sampler":
            rows = self._source.draw_of(self._weights.prompts_by_task(recipe.prompts_per_step))
        else:
            rows = self._source.draw(recipe.prompts_per_step)
        # Each attempt of a step draws from its own seed; a step has fewer attempts than extra groups.
        draw = step * (recipe.dynamic_sampling.extra_groups + 1)
        chosen = self._corrected(rows, self._generator.sample(rows), draw, unused)
        self._observe(chosen)
        budget, attempt = recipe.dynamic_sampling.extra_groups, 0
        while budget and (dull := self._uninformative(chosen)):
            dull, attempt = dull[:budget], attempt + 1
            budget -= len(dull)
            self._resampled += len(dull)
            # Of the same tasks: difficulty must not decide which tasks a step has.
            rows = self._source.draw_of(Counter(chosen.rows[group].task for group in dull))
            others = self._corrected(rows, self._generator.sample(rows), draw + attempt, unused)
            places = self._places(chosen, dull, others)
            unused += [rollout for group in places for rollout in chosen.groups[group]]
            left = (group for group in range(len(others.groups)) if group not in places.values())
            unused += [rollout for group in left for rollout in others.groups[group]]
            chosen = chosen.replaced({group: others.groups[new] for group, new in places.items()})
        return chosen, unused

    def _corrected(
        self, rows: Sequence[PromptRow], sampled: RolloutGroups, draw: int, unused: list[SampledRollout]
    ) -> RolloutGroups:
        """Show reference answers to groups without a right one, and add what was replaced to `unused`."""
        answers = corrections(self._recipe, rows, sampled.rewards(), seed=self._seed, draw=draw)
        if not answers:
            return sampled
        corrected = self._generator.correct(sampled, answers)
        own, shown = sampled.rollouts, corrected.rollouts
        unused += [own[place] for place in answers if shown[place].corrected]
        return corrected

    def _uninformative(self, rollouts: RolloutGroups, *, own: bool = False) -> list[int]:
        least = self._recipe.dynamic_sampling.min_spread
        return [group for group, spread in enumerate(rollouts.spreads(own=own)) if spread < least]

    def _places(self, chosen: RolloutGroups, dull: Sequence[int], others: RolloutGroups) -> dict[int, int]:
        """Pair each group to replace with a new one of its task that has a learning signal."""
        useless = set(self._uninformative(others))
        useful: dict[TaskName, list[int]] = {}
        for group, row in enumerate(others.rows):
            if group not in useless:
                useful.setdefault(row.task, []).append(group)
        return {group: useful[task].pop(0) for group in dull if useful.get(task := chosen.rows[group].task)}

    def _observe(self, rollouts: RolloutGroups) -> None:
        """Update the task weights with the policy's own rewards."""
        uninformative = set(self._uninformative(rollouts, own=True))
        zeros: dict[TaskName, list[float]] = {}
        for group, row in enumerate(rollouts.rows):
            zeros.setdefault(row.task, []).append(float(group in uninformative))
        self._weights.observe(rollouts.own_rewards(), {task: fmean(values) for task, values in zeros.items()})

    def loss_weights(self) -> Mapping[TaskName, float]:
        """Return the factor of each task's advantages, with mean 1."""
        return self._weights.loss_weights()

    def figures(self) -> dict[str, float]:
        """Return a step's sampling metrics: each task's share, and the groups resampled so far."""
        shares = {f"task_share/{task}": share for task, share in self._weights.shares().items()}
        return {**shares, "sampling/resampled_groups": float(self._resampled)}

    def state_dict(self) -> dict[str, Any]:
        """Return the state as JSON-compatible values."""
        return {
            "prompts": self._source.state_dict(),
            "task_weights": self._weights.state_dict(),
            "resampled": self._resampled,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state`."""
        self._source.load_state_dict(state["prompts"])
        self._weights.load_state_dict(state["task_weights"])
        self._resampled = state["resampled"]
