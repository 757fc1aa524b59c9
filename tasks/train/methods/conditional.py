"""Conditional rewards: form counts only where the content is there (GDPO, 2601.05242, section 3.2, eq. 8)."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from schemas.tasks import SpecName, TaskName
from tasks.commerce.registry import TASKS


class Parts(NamedTuple):
    """A reward's components without its penalties."""

    form: frozenset[str]
    """What a completion can earn without knowing the answer."""
    content: frozenset[str]
    """What is scored against the reference."""


def _parts(form: str, content: str = "") -> Parts:
    return Parts(frozenset(form.split()), frozenset(content.split()))


PARTS: Final[Mapping[SpecName, Mapping[TaskName, Parts]]] = MappingProxyType(
    {
        "grounded": {
            "extraction": _parts("json schema types", "values"),
            "sql_qa": _parts("form valid shape", "uses result"),
            "insights": _parts("structure actions length", "facts"),
            "push": _parts("length style", "product offer"),
            "sentiment": _parts("json types", "polarity score"),
            # A fixed sentence earns the whole of `reasoning`.
            "churn": _parts("json types reasoning", "churn risk"),
        },
        "v4.2": {
            "extraction": _parts("json schema types"),
            "sql_qa": _parts("structure explanation numbers domain"),
            "insights": _parts("actions length structure domain"),
            "push": _parts("length portuguese creativity"),
            "sentiment": _parts("json schema types"),
            "churn": _parts("json schema types"),
        },
    }
)


def gate_components(
    task: TaskName, spec: SpecName, components: Mapping[str, float], threshold: float
) -> dict[str, float]:
    """Set the form to 0 where the content does not reach the threshold.

    The content of several components is their mean by weight. Content and penalties stay as they are: to gate a penalty
    away would reward it. `v4.2` knows no reference, so that all it scores is form; there is nothing to gate it on, and
    it stays as it is. Where the reference does not tell, `fill_unknown` has given the content the mean of the rest: the
    form is then held to itself.

    Args:
        task: The rollout's task.
        spec: The reward that scored it.
        components: The rollout's components, in [0, 1].
        threshold: Content that is enough, in [0, 1]; 0 gates nothing.
    """
    form, content = PARTS[spec][task]
    if not content:
        return dict(components)
    weights = TASKS[task].rewards[spec].weights
    earned = math.fsum(weights[name] * components[name] for name in content)
    if earned >= threshold * math.fsum(weights[name] for name in content):
        return dict(components)
    return {name: 0.0 if name in form else value for name, value in components.items()}
