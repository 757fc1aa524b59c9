"""Conditional rewards: form counts only if the content is right (GDPO, 2601.05242, section 3.2, eq. 8)."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from schemas.config.train import TrainConfig
from schemas.documents import ScoredRollout
from schemas.tasks import SPEC_NAMES, SpecName, TaskName
from tasks.commerce.commerce_task import CommerceTask
from tasks.commerce.registry import TASKS, reward_of
from tasks.train.methods.method import Method


class Parts(NamedTuple):
    """Components of a reward, without penalties, split into form and content."""

    form: frozenset[str]
    """Components that a completion can earn without knowing the answer."""
    content: frozenset[str]
    """Components scored against the reference."""


def _parts(task: CommerceTask, spec: SpecName) -> Parts:
    content = frozenset[str]() if spec == "v4.2" else task.content
    return Parts(
        frozenset(name for name, weight in reward_of(task.name, spec).weights.items() if weight > 0) - content, content
    )


PARTS: Final[Mapping[SpecName, Mapping[TaskName, Parts]]] = MappingProxyType(
    {spec: {name: _parts(task, spec) for name, task in TASKS.items()} for spec in SPEC_NAMES}
)


def gate_components(
    task: TaskName, spec: SpecName, components: Mapping[str, float], threshold: float
) -> dict[str, float]:
    """Set the form components to 0 if the content does not reach the threshold.

    Several content components are averaged by weight. Content and penalties stay unchanged: gating a penalty away would
    reward it. `v4.2` uses no reference, so it scores form alone and stays unchanged. Where the reference is unknown,
    `fill_unknown` has set the content to the mean of the rest, so the form gates itself.
    """
    form, content = PARTS[spec][task]
    if not content:
        return dict(components)
    weights = reward_of(task, spec).weights
    earned = math.fsum(weights[name] * components[name] for name in content)
    if earned >= threshold * math.fsum(weights[name] for name in content):
        return dict(components)
    return {name: 0.0 if name in form else value for name, value in components.items()}


def _components(rollout: ScoredRollout, components: Mapping[str, float], recipe: TrainConfig) -> Mapping[str, float]:
    return gate_components(rollout.task, rollout.spec, components, recipe.content_threshold)


METHOD: Final = Method(order=10, is_on=lambda recipe: recipe.content_threshold > 0, components=_components)
