"""Figure of the evaluation report, an SVG element for its page or a file of its own."""

from collections.abc import Mapping
from typing import Final

from schemas.tasks import TaskName
from tasks.evaluate.compare import Comparison
from tasks.evaluate.stats.statistics import PairedStats, Verdict
from tasks.report.canvas import BLUE, DASHES, FAINT, GAIN, INK, LOSS, SOFT, WIDTH, add_axes, canvas, name_below, svg
from tasks.report.number_format import interval, signed
from tasks.report.wording import worded

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


def draw(comparison: Comparison) -> dict[str, str]:
    """Draw the figures of a report, by name."""
    return {"forest": forest(comparison.overall, comparison.tasks, comparison.margin)}


def forest(overall: PairedStats, tasks: Mapping[TaskName, PairedStats], margin: float) -> str:
    """Draw every mean difference with its 95 % interval, the zero line and the margin."""
    rows = [*tasks.items(), (worded("overall"), overall)]
    with canvas(WIDTH, 1.0 + 0.4 * len(rows)) as figure:
        axes = add_axes(figure, left=0.85, right=1.55, bottom=0.5, top=0.1)
        axes.locator_params(nbins=6)
        axes.axvline(0, color=INK, linewidth=0.9)
        axes.axhline(len(rows) - 1.5, color=FAINT, linewidth=0.8)
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.set_ylim(len(rows) - 0.4, -1.1)
        axes.tick_params(axis="y", length=0, labelcolor=INK)
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
        known = [end for _, block in rows for end in (block.ci_low, block.ci_high, block.mean_difference)]
        ends = [0.0, -margin * 1.8, *(end for end in known if end is not None)]
        room = 0.06 * (max(ends) - min(ends))
        axes.set_xlim(min([*ends, -margin - 0.2 * (max(ends) + margin)]) - room, max(ends) + room)
        for row, (_, block) in enumerate(rows):
            colour = VERDICT_COLOURS[block.verdict]
            if block.ci_low is not None and block.ci_high is not None:
                axes.plot([block.ci_low, block.ci_high], [row, row], color=colour, linewidth=2.4)
            mark = "D" if block is overall else "o"
            axes.plot(block.mean_difference, row, mark, color=colour, markersize=7, markeredgecolor="white")
            axes.annotate(
                f"{signed(block.mean_difference)}  {worded(block.verdict)}",
                (1.02, row),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=8.5,
                color=colour,
            )
        name_below(figure, worded("mean difference in score, tuned minus base, with its 95 % interval"))
        found = "; ".join(f"{name} {_said(block)}, {worded(block.verdict)}" for name, block in rows)
        return svg(figure, worded("Mean differences with their 95 % intervals: {differences}.", differences=found))


def _said(block: PairedStats) -> str:
    ends = worded("interval unknown") if block.ci_low is None else interval(block.ci_low, block.ci_high)
    return f"{signed(block.mean_difference)} ({ends})"
