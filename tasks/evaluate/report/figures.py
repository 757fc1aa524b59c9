"""Figures of the evaluation report, each an SVG element for a page or a file of its own.

Many lines of one colour are drawn as one broken line, which keeps the page small.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from schemas.tasks import TaskName
from tasks.evaluate.compare import Comparison, PromptScores
from tasks.evaluate.report.background import Background, LearningCurve
from tasks.evaluate.stats.statistics import PairedStats, Verdict
from tasks.report.canvas import BLUE, DASHES, FAINT, GAIN, INK, LOSS, SOFT, WIDTH, add_axes, canvas, name_below, svg
from tasks.report.number_format import decimal, interval, signed
from tasks.report.wording import counted, worded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VERDICT_COLOURS: Final[Mapping[Verdict, str]] = {
    "better": GAIN,
    "non-inferior": BLUE,
    "worse": LOSS,
    "inconclusive": SOFT,
    "no better": LOSS,
    "below floor": LOSS,
    "collapsed": LOSS,
    "not learned": SOFT,
}
_SEED_COLOURS: Final = (BLUE, "#b45309", "#7c3aed", GAIN, "#be185d", SOFT)
_SEED_MARKS: Final = "osD^vP"
LADDER_COLOURS: Final = (SOFT, "#b45309", LOSS)
"""Of base and rungs, in turn; the tuned model's is that of a gain."""
LADDER_MARKS: Final = "osD"
_LADDER_COLUMNS: Final = 2
_NAMES_A_LINE: Final = 3
"""Steps that a line of the legend names."""
_NARROWEST: Final = 0.1
"""Smallest range of a difference axis, so that a tiny difference does not look large."""


def draw(comparison: Comparison, background: Background) -> dict[str, str]:
    """Draw every figure with data, by name.

    Returns:
        `forest`, `learning_curves` if known, `ladder` with rungs, and for each task `differences_TASK`.
    """
    drawn = {"forest": forest(comparison.overall, comparison.tasks, comparison.margin)}
    if any(curve.points for curve in background.learning_curves.values()):
        drawn["learning_curves"] = learning_curves(background.learning_curves, background.chosen_seed)
    if background.ladder:
        drawn["ladder"] = draw_ladder(ladder_steps(comparison, background))
    for task, block in comparison.tasks.items():
        prompts = [prompt for prompt in comparison.prompts if prompt.task == task]
        drawn[f"differences_{task}"] = differences(task, prompts, block)
    return drawn


def forest(overall: PairedStats, tasks: Mapping[TaskName, PairedStats], margin: float) -> str:
    """Draw every mean difference with its 95 % interval, the zero line and the margin."""
    rows = [*tasks.items(), (worded("overall"), overall)]
    with canvas(WIDTH, 1.0 + 0.4 * len(rows)) as figure:
        axes = _axes(figure, left=0.85, right=1.55, bottom=0.5, top=0.1)
        _rows(axes, [name for name, _ in rows])
        axes.axvline(-margin, color=LOSS, linewidth=0.9, linestyle=DASHES)
        axes.annotate(
            worded("margin {margin}", margin=signed(-margin)),
            (-margin, -0.75),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=8,
            color=LOSS,
        )
        # The range extends far enough left for the words beside the margin.
        ends = [0.0, -margin * 1.8, *_ends(block for _, block in rows)]
        room = 0.06 * (max(ends) - min(ends))
        axes.set_xlim(min([*ends, -margin - 0.2 * (max(ends) + margin)]) - room, max(ends) + room)
        for row, (_, block) in enumerate(rows):
            colour = VERDICT_COLOURS[block.verdict]
            if block.ci_low is not None and block.ci_high is not None:
                axes.plot([block.ci_low, block.ci_high], [row, row], color=colour, linewidth=2.4)
            mark = "D" if block is overall else "o"
            axes.plot(block.mean_difference, row, mark, color=colour, markersize=7, markeredgecolor="white")
            _beside(axes, row, f"{signed(block.mean_difference)}  {worded(block.verdict)}", colour)
        name_below(figure, worded("mean difference in score, tuned minus base, with its 95 % interval"))
        found = "; ".join(f"{name} {_said(block)}, {worded(block.verdict)}" for name, block in rows)
        return svg(figure, worded("Mean differences with their 95 % intervals: {differences}.", differences=found))


def differences(task: TaskName, prompts: Sequence[PromptScores], block: PairedStats) -> str:
    """Draw each prompt's difference, from the largest loss to the largest gain, with the mean and its interval."""
    ordered = sorted(prompt.difference for prompt in prompts)
    with canvas(4.9, 2.7) as figure:
        axes = _axes(figure, left=0.65, right=0.15, bottom=0.3, top=0.3)
        if block.ci_low is not None and block.ci_high is not None:
            axes.axhspan(block.ci_low, block.ci_high, color=BLUE, alpha=0.13, linewidth=0)
        axes.axhline(block.mean_difference, color=BLUE, linewidth=1.2, linestyle=DASHES)
        axes.axhline(0, color=INK, linewidth=0.9)
        width = max(0.8, min(7.0, 240 / len(ordered)))
        for colour, sign in ((GAIN, 1), (LOSS, -1)):
            bars = [(place, value) for place, value in enumerate(ordered) if value * sign > 0]
            axes.plot(
                [number for place, _ in bars for number in (place, place, math.nan)],
                [number for _, value in bars for number in (0.0, value, math.nan)],
                color=colour,
                linewidth=width,
                solid_capstyle="butt",
            )
        low, high = min(0.0, ordered[0]), max(0.0, ordered[-1])
        room = max(_NARROWEST, high - low) * 0.08
        axes.set(
            xlim=(-0.8, len(ordered) - 0.2),
            ylim=(low - room, max(high, low + _NARROWEST) + room),
            xticks=[],
            ylabel=worded("tuned minus base"),
            xlabel=f"{counted(len(ordered), '{n} prompt', '{n} prompts')}: {_counts(ordered)}",
        )
        axes.set_title(
            worded("mean {difference}", difference=_said(block)), fontsize=8.5, color=BLUE, loc="right", pad=6
        )
        label = worded(
            "{task}: the difference of each prompt, from the largest loss to the largest gain; {counts}, mean "
            "{difference}.",
            task=task,
            counts=_counts(ordered),
            difference=_said(block),
        )
        return svg(figure, label)


def learning_curves(curves: Mapping[int, LearningCurve], chosen_seed: int | None) -> str:
    """Draw each training's validation reward over its steps, with the step whose checkpoint was chosen."""
    known = {seed: curve for seed, curve in curves.items() if curve.points}
    top = 0.15 + 0.19 * len(known)
    with canvas(WIDTH, 2.6 + top) as figure:
        axes = _axes(figure, left=0.6, right=0.15, bottom=0.5, top=top)
        said = []
        for place, (seed, curve) in enumerate(known.items()):
            steps, rewards = zip(*sorted(curve.points), strict=True)
            colour = _SEED_COLOURS[place % len(_SEED_COLOURS)]
            words = _of_seed(seed)
            for step, reward in curve.points:
                if step == curve.chosen_step:
                    words = worded("seed {seed}: step {step}, {reward}", seed=seed, step=step, reward=decimal(reward))
                    axes.plot(step, reward, "o", markersize=11, markerfacecolor="none", markeredgecolor=colour)
            is_candidate = seed == chosen_seed and len(known) > 1
            said.append(words)
            axes.plot(
                steps,
                rewards,
                color=colour,
                linewidth=2.4 if is_candidate or len(known) == 1 else 1.3,
                marker=_SEED_MARKS[place % len(_SEED_MARKS)],
                markersize=3.5,
                label=worded("{seed}, candidate", seed=words) if is_candidate else words,
            )
        axes.set(xlabel=worded("training step (ring: the chosen checkpoint)"), ylabel=worded("validation reward"))
        axes.locator_params(axis="x", integer=True)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 0.99), frameon=False, fontsize=8, handlelength=1.6)
        return svg(figure, worded("Validation reward by training step; chosen: {steps}.", steps="; ".join(said)))


class MeanScore(NamedTuple):
    """Mean score of a task with its 95 % interval, by Student's t; the interval is a point for one prompt."""

    mean: float
    low: float
    high: float


class LadderStep(NamedTuple):
    """One step of the ladder: base, rung or tuned model."""

    name: str
    scores: Mapping[TaskName, MeanScore]
    overall: float
    left: PairedStats | None
    """The tuned model's scores beside these, which take the base's place; None for the tuned model itself."""
    cost: float | None
    """US dollars an answer; None where unknown."""


def ladder_steps(comparison: Comparison, background: Background) -> list[LadderStep]:
    """Return the steps from the base by the rungs, in the order of their scores, to the tuned model."""
    costs = {served.model: served.cost_per_analysis for served in background.serving}
    below = [("base", comparison), *((rung.name, rung.match.found) for rung in background.ladder)]
    found = [
        LadderStep(name, _task_means(each.prompts, "base"), each.overall.mean_base, each.overall, costs.get(name))
        for name, each in below
    ]
    tuned = _task_means(comparison.prompts, "tuned")
    found.sort(key=lambda step: step.overall)
    return [*found, LadderStep("tuned", tuned, comparison.overall.mean_tuned, None, costs.get("tuned"))]


def _task_means(prompts: Sequence[PromptScores], model: Literal["base", "tuned"]) -> dict[TaskName, MeanScore]:
    from scipy import stats

    scores: dict[TaskName, list[float]] = {}
    for prompt in prompts:
        scores.setdefault(prompt.task, []).append(prompt.base if model == "base" else prompt.tuned)
    found = {}
    for task, values in scores.items():
        mean, n = float(np.mean(values)), len(values)
        half = float(stats.sem(values) * stats.t.ppf(0.975, n - 1)) if n > 1 else 0.0
        found[task] = MeanScore(mean, mean - half, mean + half)
    return found


def draw_ladder(ladder: Sequence[LadderStep]) -> str:
    """Draw each step's score with its interval against the price of its answers, a panel for each task."""
    tasks = list(ladder[0].scores)
    has_prices = all(step.cost is not None for step in ladder) and any(step.cost for step in ladder)
    rows = -(-len(tasks) // _LADDER_COLUMNS)
    legend = 0.3 + 0.2 * -(-len(ladder) // _NAMES_A_LINE)
    height = 0.4 + legend + 1.9 * rows
    with canvas(WIDTH, height) as figure:
        panels = figure.subplots(rows, _LADDER_COLUMNS, squeeze=False, sharey=True).flat
        for panel, task in zip_longest(panels, tasks):
            if task is None:
                panel.set_axis_off()
                continue
            for place, step in enumerate(ladder):
                score, is_tuned = step.scores[task], step.left is None
                panel.errorbar(
                    1_000 * (step.cost or 0.0) if has_prices else place,
                    score.mean,
                    yerr=[[score.mean - score.low], [score.high - score.mean]],
                    fmt="*" if is_tuned else LADDER_MARKS[place % len(LADDER_MARKS)],
                    color=GAIN if is_tuned else LADDER_COLOURS[place % len(LADDER_COLOURS)],
                    markersize=9 if is_tuned else 5,
                    elinewidth=1,
                    label=worded(step.name),
                )
            if not has_prices:
                panel.set_xticks([])
            panel.set_title(task, fontsize=8.5, color=INK, loc="left")
        if has_prices:
            figure.supxlabel(worded("US dollars for 1,000 answers"), fontsize=8.5, color=SOFT)
        figure.supylabel(worded("mean score, 95 % interval"), fontsize=8.5, color=SOFT)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", ncols=_NAMES_A_LINE, frameon=False, fontsize=8)
        figure.subplots_adjust(left=0.12, right=0.99, bottom=0.45 / height, top=1 - legend / height, hspace=0.45)
        said = "; ".join(f"{worded(step.name)} {decimal(step.overall)}" for step in ladder)
        label = "Mean score of each step against the price of its answers, by task; overall: {scores}."
        return svg(figure, worded(label, scores=said))


def _rows(axes: "Axes", names: Sequence[str]) -> None:
    """Prepare axes with a row per name, the last being `overall`, and the zero line."""
    axes.axvline(0, color=INK, linewidth=0.9)
    axes.axhline(len(names) - 1.5, color=FAINT, linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -1.1)
    axes.tick_params(axis="y", length=0, labelcolor=INK)


def _beside(axes: "Axes", row: float, words: str, colour: str) -> None:
    axes.annotate(words, (1.02, row), xycoords=("axes fraction", "data"), va="center", fontsize=8.5, color=colour)


def _ends(blocks: Iterator[PairedStats]) -> list[float]:
    return [
        value for block in blocks for value in (block.ci_low, block.ci_high, block.mean_difference) if value is not None
    ]


def _said(block: PairedStats) -> str:
    ends = worded("interval unknown") if block.ci_low is None else interval(block.ci_low, block.ci_high)
    return f"{signed(block.mean_difference)} ({ends})"


def _counts(ordered: Sequence[float]) -> str:
    gains, losses = sum(value > 0 for value in ordered), sum(value < 0 for value in ordered)
    tied = len(ordered) - gains - losses
    return worded("{losses} lost, {tied} tied, {gains} gained", losses=losses, tied=tied, gains=gains)


def _of_seed(seed: int) -> str:
    return worded("seed {seed}", seed=seed)


def _axes(figure: "Figure", *, left: float, right: float, bottom: float, top: float) -> "Axes":
    axes = add_axes(figure, left=left, right=right, bottom=bottom, top=top)
    axes.locator_params(nbins=6)
    return axes
