"""Ladder of the report: base, rungs and tuned model, each with its scores and the price of its answers."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from schemas.tasks import TaskName
from tasks.evaluate.compare import Comparison, PromptScores
from tasks.evaluate.report.background import Background
from tasks.evaluate.stats.statistics import PairedStats
from tasks.report.canvas import BLUE, GAIN, INK, LOSS, SOFT, WIDTH, canvas, svg
from tasks.report.number_format import decimal
from tasks.report.wording import worded

COLUMNS: Final = 2
NAMES_A_LINE: Final = 3
"""Steps that a line of the legend names."""
COLOURS: Final = (SOFT, "#b45309", "#7c3aed", LOSS, BLUE, "#be185d", "#0891b2")
"""Of base and rungs, in turn; the tuned model's is that of a gain."""
MARKS: Final = "osDvP^X"


class MeanScore(NamedTuple):
    """Mean score of a task with its 95 % interval, by Student's t; the interval is a point for one prompt."""

    mean: float
    low: float
    high: float


class Step(NamedTuple):
    """One step of the ladder."""

    name: str
    draws: int
    """Answers that are drawn to a prompt."""
    scores: Mapping[TaskName, MeanScore]
    overall: float
    left: PairedStats | None
    """The tuned model's scores beside these, which take the base's place; None for the tuned model itself."""
    cost: float | None
    """US dollars an answer; None where unknown."""


def steps(comparison: Comparison, background: Background) -> list[Step]:
    """Return the steps from the base by the rungs, in the order of their scores, to the tuned model."""
    costs = {served.model: served.cost_per_analysis for served in background.serving}
    below = [("base", 1, comparison), *((rung.name, rung.draws, rung.match.found) for rung in background.ladder)]
    found = [
        Step(
            name,
            draws,
            _by_task(against.prompts, of_tuned=False),
            against.overall.mean_base,
            against.overall,
            costs.get(name),
        )
        for name, draws, against in below
    ]
    found.sort(key=lambda step: step.overall)
    tuned = _by_task(comparison.prompts, of_tuned=True)
    return [*found, Step("tuned", 1, tuned, comparison.overall.mean_tuned, None, costs.get("tuned"))]


def draw_ladder(ladder: Sequence[Step]) -> str:
    """Draw each step's score with its interval against the price of its answers, a panel for each task."""
    tasks = list(ladder[0].scores)
    has_prices = all(step.cost is not None for step in ladder) and any(step.cost for step in ladder)
    rows = -(-len(tasks) // COLUMNS)
    legend = 0.3 + 0.2 * -(-len(ladder) // NAMES_A_LINE)
    height = 0.4 + legend + 1.9 * rows
    with canvas(WIDTH, height) as figure:
        panels = figure.subplots(rows, COLUMNS, squeeze=False, sharey=True).flat
        for panel, task in zip(panels, [*tasks, *[None] * (rows * COLUMNS - len(tasks))], strict=True):
            if task is None:
                panel.set_axis_off()
                continue
            for place, step in enumerate(ladder):
                score, is_tuned = step.scores[task], step.left is None
                # Steps of one price are drawn beside one another.
                at = 1_000 * (step.cost or 0.0) if has_prices else step.draws + 0.15 * (place - len(ladder) / 2)
                panel.errorbar(
                    at,
                    score.mean,
                    yerr=[[score.mean - score.low], [score.high - score.mean]],
                    fmt="*" if is_tuned else MARKS[place % len(MARKS)],
                    color=GAIN if is_tuned else COLOURS[place % len(COLOURS)],
                    markersize=9 if is_tuned else 5,
                    elinewidth=1,
                    label=worded(step.name),
                )
            if not has_prices:
                panel.set_xticks(sorted({step.draws for step in ladder}))
            panel.set_title(task, fontsize=8.5, color=INK, loc="left")
        x = worded("US dollars for 1,000 answers" if has_prices else "answers drawn to a prompt")
        figure.supxlabel(x, fontsize=8.5, color=SOFT)
        figure.supylabel(worded("mean score, 95 % interval"), fontsize=8.5, color=SOFT)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", ncols=NAMES_A_LINE, frameon=False, fontsize=8)
        figure.subplots_adjust(left=0.12, right=0.99, bottom=0.45 / height, top=1 - legend / height, hspace=0.45)
        said = "; ".join(f"{worded(step.name)} {decimal(step.overall)}" for step in ladder)
        label = "Mean score of each step against the price of its answers, by task; overall: {scores}."
        return svg(figure, worded(label, scores=said))


def _by_task(prompts: Sequence[PromptScores], *, of_tuned: bool) -> dict[TaskName, MeanScore]:
    found: dict[TaskName, list[float]] = {}
    for prompt in prompts:
        found.setdefault(prompt.task, []).append(prompt.tuned if of_tuned else prompt.base)
    return {task: _mean(values) for task, values in found.items()}


def _mean(values: Sequence[float]) -> MeanScore:
    from scipy import stats

    mean = float(np.mean(values))
    half = 0.0
    if len(values) > 1:
        half = float(stats.sem(values) * stats.t.ppf(0.975, len(values) - 1))
    return MeanScore(mean, mean - half, mean + half)
