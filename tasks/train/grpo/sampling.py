"""Which rollouts a step is trained on: what is asked, what is asked again, and where the right answer is given."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from schemas.prompts import PromptRow
from schemas.tasks import TaskName
from schemas.train_config import TrainConfig
from tasks.train.curriculum import completion_limit
from tasks.train.guided_correction import choose_corrections, reference_answer
from tasks.train.prompt_source import PromptSource
from tasks.train.rollouts import Rollouts
from tasks.train.task_weights import TaskWeights

Sample = Callable[[Sequence[PromptRow], int], Rollouts]
"""Samples and scores a group for each prompt, with at most so many tokens a completion."""
Correct = Callable[[Rollouts, Mapping[int, str], int], Rollouts]
"""Puts texts in the place of some completions, and scores them; those of more tokens than are allowed it leaves out."""
Unused = Callable[[Rollouts], None]
"""Told what was sampled and is not trained on."""


class RolloutSampler:
    """Chooses each step's rollouts. What it keeps from step to step is its own state, saved with the checkpoint."""

    def __init__(self, recipe: TrainConfig, rows: Sequence[PromptRow], seed: int) -> None:
        """Begin at the first prompt, with equal weights.

        Args:
            recipe: The recipe.
            rows: The training prompts.
            seed: Decides the prompts' order and which groups are corrected.
        """
        self._recipe = recipe
        self._seed = seed
        self._source = PromptSource(rows, seed)
        weights = recipe.task_weights
        self._weights = TaskWeights(
            sorted({row.task for row in rows}), every=weights.every, rate=weights.rate, level=weights.level
        )
        self._resampled = 0

    def choose(self, step: int, sample: Sample, correct: Correct, unused: Unused) -> Rollouts:
        """Return the rollouts of a step: as many groups as the recipe has prompts a step.

        Groups whose completions all earned the same are replaced by others of the same task (DAPO's dynamic sampling),
        as far as the budget of extra groups goes.

        Args:
            step: Optimizer steps that are done.
            sample: How completions are sampled and scored.
            correct: How some of them are replaced.
            unused: Told what is replaced, and what was sampled in vain.
        """
        recipe = self._recipe
        if recipe.task_weights.applies_to == "sampler":
            rows = self._source.draw_of(self._weights.prompts_by_task(recipe.prompts_per_step))
        else:
            rows = self._source.draw(recipe.prompts_per_step)
        chosen = self._sample(step, 0, rows, sample, correct, unused)
        self._observe(chosen)
        budget, attempt = recipe.dynamic_sampling.extra_groups, 0
        while budget and (uninformative := self._uninformative(chosen)):
            replaced, attempt = uninformative[:budget], attempt + 1
            budget -= len(replaced)
            self._resampled += len(replaced)
            # Of the same tasks: which tasks a step has is not for their difficulty to decide.
            tasks = Counter(chosen.group_rows[group].task for group in replaced)
            others = self._sample(step, attempt, self._source.draw_of(tasks), sample, correct, unused)
            places = dict(self._places(chosen, replaced, others))
            unused(chosen.at_groups(list(places)))
            unused(others.at_groups([group for group in range(len(replaced)) if group not in places.values()]))
            chosen = chosen.with_groups_of(others, places)
        return chosen

    def _sample(
        self, step: int, attempt: int, rows: Sequence[PromptRow], sample: Sample, correct: Correct, unused: Unused
    ) -> Rollouts:
        recipe = self._recipe
        stages = [(stage.until_step, stage.max_completion_tokens) for stage in recipe.curriculum]
        limit = completion_limit(step, stages, recipe.max_completion_tokens)
        rollouts = sample(rows, limit)
        if not recipe.guided_correction.share:
            return rollouts
        places = choose_corrections(
            rollouts.group_rewards(),
            share=recipe.guided_correction.share,
            threshold=recipe.guided_correction.threshold,
            seed=self._seed,
            # Attempts of one step draw apart; a step has fewer of them than extra groups.
            step=step * (recipe.dynamic_sampling.extra_groups + 1) + attempt,
        )
        answers = {
            group * recipe.generations + place: answer
            for group, place in places
            if (answer := reference_answer(rows[group])) is not None
        }
        if not answers:
            return rollouts
        corrected = correct(rollouts, answers, limit)
        unused(rollouts.at([place for place in answers if corrected.corrected[place]]))
        return corrected

    def _uninformative(self, rollouts: Rollouts, *, own: bool = False) -> list[int]:
        least = self._recipe.dynamic_sampling.min_spread
        return [group for group, spread in enumerate(rollouts.group_spreads(own=own)) if spread < least]

    def _places(self, chosen: Rollouts, replaced: Sequence[int], others: Rollouts) -> list[tuple[int, int]]:
        """Pair each replaced group with a new one of its task that has something to teach."""
        useless = set(self._uninformative(others))
        useful: dict[TaskName, list[int]] = {}
        for group, row in enumerate(others.group_rows):
            if group not in useless:
                useful.setdefault(row.task, []).append(group)
        return [(group, useful[task].pop(0)) for group in replaced if useful.get(task := chosen.group_rows[group].task)]

    def _observe(self, rollouts: Rollouts) -> None:
        """Tell the task weights what the policy itself earned."""
        uninformative = set(self._uninformative(rollouts, own=True))
        zeros: dict[TaskName, list[float]] = {}
        for group, row in enumerate(rollouts.group_rows):
            zeros.setdefault(row.task, []).append(float(group in uninformative))
        self._weights.observe(rollouts.own_rewards(), {task: fmean(values) for task, values in zeros.items()})

    def loss_weights(self) -> Mapping[TaskName, float]:
        """Return what the advantages of each task are multiplied by: 1, unless the weights apply to the loss."""
        if self._recipe.task_weights.applies_to != "loss":
            return {}
        return self._weights.loss_weights()

    def figures(self) -> dict[str, float]:
        """Return what a step's metrics say of it: each task's share, and the groups sampled again so far."""
        shares = {f"task_share/{task}": share for task, share in self._weights.shares().items()}
        return {**shares, "sampling/resampled_groups": float(self._resampled)}

    def state_dict(self) -> dict[str, Any]:
        """Return all of its state, as JSON can hold it."""
        return {
            "prompts": self._source.state_dict(),
            "task_weights": self._weights.state_dict(),
            "resampled": self._resampled,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state` was taken.

        Raises:
            InputError: It was taken of other prompts or tasks.
        """
        self._source.load_state_dict(state["prompts"])
        self._weights.load_state_dict(state["task_weights"])
        self._resampled = state["resampled"]
