"""Figures of the audit report, each an SVG element for the page."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from tasks.audit.sampling import AT_RANDOM, BY_REWARD
from tasks.audit.sheet import ScoredCompletion
from tasks.report.canvas import INK, LOSS, SOFT, canvas, svg
from tasks.report.wording import counted, worded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLUE: Final = "#0369a1"
_OTHERWISE: Final = "otherwise"
STRATA: Final = {
    AT_RANDOM: ("drawn at random", "o", _BLUE, _BLUE),
    BY_REWARD: ("chosen by reward", "D", "none", LOSS),
    _OTHERWISE: ("chosen otherwise", "s", "none", SOFT),
}
_FEWEST_FOR_QUARTILES: Final = 4


def scatter(rows: Sequence[ScoredCompletion]) -> str:
    """Draw one task's rewards against its scores, which are jittered so that no point hides another."""
    with canvas(4.6, 2.9) as figure:
        _draw(figure.add_axes((0.125, 0.16, 0.85, 0.74)), rows)
        return svg(figure, worded("reward against score"))


def _draw(axes: "Axes", rows: Sequence[ScoredCompletion]) -> None:
    beside = np.random.default_rng(0).uniform(-0.15, 0.15, len(rows))
    counts = Counter(_stratum(row) for row in rows)
    only_others = counts.keys() == {_OTHERWISE}
    for name, (words, mark, face, edge) in STRATA.items():
        points = [
            (row.item.score + aside, row.rollout.reward)
            for row, aside in zip(rows, beside, strict=True)
            if _stratum(row) == name
        ]
        if points:
            sideways, rewards = zip(*points, strict=True)
            axes.scatter(
                sideways,
                rewards,
                s=20,
                marker=mark,
                facecolors=face,
                edgecolors=edge,
                alpha=0.75,
                linewidths=0.9,
                label=counted(len(rows), "{n} completion", "{n} completions")
                if only_others
                else f"{worded(words)}: {counts[name]}",
            )
    for score in sorted({row.item.score for row in rows}):
        of_score = [row.rollout.reward for row in rows if row.item.score == score]
        if len(of_score) >= _FEWEST_FOR_QUARTILES:
            low, median, high = np.quantile(of_score, [0.25, 0.5, 0.75])
            axes.plot([score, score], [low, high], color=INK, linewidth=1.4)
            axes.plot([score - 0.2, score + 0.2], [median, median], color=INK, linewidth=2)
    axes.set(
        xlim=(0.6, 5.4),
        ylim=(-0.04, 1.04),
        xticks=range(1, 6),
        xlabel=worded("score on the sheet"),
        ylabel=worded("reward"),
    )
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.01, 0.99),
        ncols=len(STRATA),
        frameon=False,
        fontsize=8,
        handletextpad=0.1,
        columnspacing=1.2,
    )


def _stratum(row: ScoredCompletion) -> str:
    """Return the stratum of a completion; any that the project does not draw counts as "chosen otherwise"."""
    return row.item.stratum if row.item.stratum in {AT_RANDOM, BY_REWARD} else _OTHERWISE
