"""Methods of the papers: the points of a step where one may act, and the values that it is given there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemas.config.train import TrainConfig
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class SampledGroups:
    """Groups of completions that were just sampled and scored."""

    recipe: TrainConfig
    prompts: Sequence[PromptRow]
    """The prompt of each group."""
    rewards: Sequence[Sequence[float]]
    """Total rewards of each group's completions, in [0, 1]."""
    seed: int
    """The training's seed."""
    draw: int
    """Number of this sampling in the training, from 0; unique, and equal when a training is resumed."""


@dataclass(frozen=True)
class ScoredBatch:
    """Completions that one process learns from in a step: B rollouts, groups of `recipe.generations` in a row."""

    tasks: Sequence[TaskName]
    """Task of each completion; length B."""
    completion_mask: "Tensor"
    """1 for tokens that count in the loss; shape (B, T)."""
    task_weights: Mapping[TaskName, float]
    """Weight of each task in the loss, with mean 1; empty unless the recipe weighs tasks there."""
    entropies: "Callable[[], Tensor]"
    """Computes the entropy of each token's distribution in nats by a forward pass; shape (B, T)."""
    summed: "Callable[[Tensor], Tensor]"
    """Sums a tensor over the processes of the training."""


def _no_answers(_: SampledGroups) -> Mapping[int, str]:
    return {}


@dataclass(frozen=True)
class Method:
    """One paper's method. It acts at the points that it sets, and only if the recipe switches it on."""

    is_on: Callable[[TrainConfig], bool]
    """Returns whether the recipe switches it on."""
    answers: Callable[[SampledGroups], Mapping[int, str]] = _no_answers
    """Returns texts that replace completions, by the completion's index among all that were sampled."""
    factors: "Callable[[ScoredBatch], Tensor] | None" = None
    """Returns the factor of each rollout's advantage, (B,)."""


def methods_of(recipe: TrainConfig) -> tuple[Method, ...]:
    """Return the methods that a recipe switches on, in the order in which they act."""
    from tasks.train.methods import entropy, guided_correction, task_weights

    methods = (guided_correction.METHOD, task_weights.METHOD, entropy.METHOD)
    return tuple(method for method in methods if method.is_on(recipe))
