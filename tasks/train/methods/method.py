"""Signature of a paper's method: the points of a step where it may act, and the values that it is given there.

Values are never changed in place: a method returns new ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from schemas.config.train import TrainConfig
from schemas.documents import ScoredRollout
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class SampledGroups:
    """Groups of completions that were just sampled and scored."""

    recipe: TrainConfig
    prompts: Sequence[PromptRow]
    """The prompt of each group."""
    rewards: Sequence[Sequence[float]]
    """Total rewards of each group's completions as trained on, in [0, 1]."""
    seed: int
    """The training's seed."""
    draw: int
    """Number of this sampling in the training, from 0; unique, and equal when a training is resumed."""


@dataclass(frozen=True)
class ScoredBatch:
    """Completions that one process learns from in a step: B rollouts, groups of `recipe.generations` in a row."""

    recipe: TrainConfig
    tokenizer: "PreTrainedTokenizerBase"
    scored: Sequence[ScoredRollout]
    """Each completion with its reward; length B."""
    rewards: "Tensor"
    """Total rewards as trained on; shape (B,)."""
    completion_ids: Sequence[Sequence[int]]
    """Tokens of each completion, without padding; length B."""
    completion_mask: "Tensor"
    """1 for tokens that count in the loss; shape (B, T)."""
    task_weights: Mapping[TaskName, float]
    """Weight of each task in the loss, with mean 1; empty unless the recipe weighs tasks there."""
    entropies: "Callable[[], Tensor]"
    """Computes the entropy of each token's distribution in nats by a forward pass; shape (B, T)."""
    summed: "Callable[[Tensor], Tensor]"
    """Sums a tensor over the processes of the training."""


@dataclass(frozen=True)
class Advantages:
    """Advantages of a batch, as far as the methods before have made them."""

    values: "Tensor"
    """Shape (B,), or (B, T) if tokens have their own."""
    scale: "Tensor"
    """Factor of each rollout's advantages; shape (B,). Factors are multiplied with each other first, and with the
    values last."""

    def scaled_by(self, factors: "Tensor") -> "Advantages":
        """Return these advantages with a further factor for each rollout, (B,)."""
        return replace(self, scale=self.scale * factors)

    def product(self) -> "Tensor":
        """Return the advantages with all factors, in the shape of the values."""
        return self.values * (self.scale if self.values.dim() == 1 else self.scale.unsqueeze(1))


def _same_components(_r: ScoredRollout, components: Mapping[str, float], _c: TrainConfig) -> Mapping[str, float]:
    return components


def _no_answers(_: SampledGroups) -> Mapping[int, str]:
    return {}


def _same_advantages(_: ScoredBatch, advantages: Advantages) -> Advantages:
    return advantages


@dataclass(frozen=True)
class Method:
    """One paper's method. It acts at the points that it sets, and only if the recipe switches it on."""

    order: int
    """Place among the methods, which act in rising order at each point; no two have the same."""
    is_on: Callable[[TrainConfig], bool]
    """Returns whether the recipe switches it on."""
    components: Callable[[ScoredRollout, Mapping[str, float], TrainConfig], Mapping[str, float]] = _same_components
    """Returns the components of a rollout's reward as trained on, given those of the methods before."""
    answers: Callable[[SampledGroups], Mapping[int, str]] = _no_answers
    """Returns texts that replace completions, by the completion's index among all that were sampled."""
    advantages: Callable[[ScoredBatch, Advantages], Advantages] = _same_advantages
    """Returns the batch's advantages, given those of the methods before; TRL's come first."""
