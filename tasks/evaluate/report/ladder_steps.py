"""Steps of the report's ladder: base, rungs and tuned model, each with its scores and the price of its answers."""

from collections.abc import Mapping
from typing import NamedTuple

from schemas.tasks import TaskName
from tasks.evaluate.compare import Comparison
from tasks.evaluate.report.background import Background
from tasks.evaluate.stats.statistics import PairedStats


class Step(NamedTuple):
    """One step of the ladder."""

    name: str
    draws: int
    """Answers that are drawn to a prompt."""
    scores: Mapping[TaskName, float]
    """Mean score, by task."""
    overall: float
    left: PairedStats | None
    """The tuned model's scores beside these, which take the base's place; None for the tuned model itself."""
    cost: float | None
    """US dollars an answer; None where unknown."""


def steps(comparison: Comparison, background: Background) -> list[Step]:
    """Return the steps from the base by the rungs, in the order of their scores, to the tuned model."""
    costs = {served.model: served.cost_per_analysis for served in background.serving}
    found = [
        Step(
            name,
            draws,
            {task: block.mean_base for task, block in against.tasks.items()},
            against.overall.mean_base,
            against.overall,
            costs.get(name),
        )
        for name, draws, against in (
            ("base", 1, comparison),
            *((rung.name, rung.draws, rung.match.found) for rung in background.ladder),
        )
    ]
    tuned = {task: block.mean_tuned for task, block in comparison.tasks.items()}
    found.sort(key=lambda step: step.overall)
    return [*found, Step("tuned", 1, tuned, comparison.overall.mean_tuned, None, costs.get("tuned"))]
