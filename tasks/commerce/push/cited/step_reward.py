"""Reward with a component that the other answers of a step decide too: one answer says nothing of variety."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tasks.commerce.reward import Reward


@dataclass(frozen=True, kw_only=True)
class StepReward(Reward):
    """Reward of which a completion that is scored alone keeps one component whole."""

    component: str
    """The component that the other answers decide too."""
    among: Callable[[Sequence[str]], Sequence[float]]
    """Returns the share of the component that each of a step's completions keeps, in [0, 1]."""
