"""Figures of the audit report, each an SVG element for the page."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from schemas.config.config import AuditConfig
from tasks.audit.sampling import AT_RANDOM, BY_REWARD
from tasks.audit.sheet import ScoredCompletion
from tasks.audit.statistics import Agreement, Correlation
from tasks.report.canvas import DASHES, INK, LOSS, SOFT, canvas, svg
from tasks.report.number_format import shortest
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


def agreement(rows: Sequence[ScoredCompletion], found: Agreement, config: AuditConfig) -> str:
    """Draw one task's rewards against its scores, and below them rho's interval against the gate's thresholds."""
    with canvas(4.6, 4.1) as figure:
        _scatter(figure.add_axes((0.125, 0.40, 0.85, 0.53)), rows)
        _intervals(figure.add_axes((0.125, 0.115, 0.85, 0.135)), found, config)
        return svg(figure, worded("reward against score, and rho with its interval"))


def _scatter(axes: "Axes", rows: Sequence[ScoredCompletion]) -> None:
    """Draw reward against score; the scores are jittered so that no point hides another."""
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


def _intervals(axes: "Axes", found: Agreement, config: AuditConfig) -> None:
    bars = [(worded("all"), found.overall)]
    if found.random_half.n:
        bars.append((worded(AT_RANDOM), found.random_half))
    lows = [bar.rho_low for _, bar in bars if bar.rho_low is not None]
    least = min([0.0, config.min_rho_low, *lows])
    axes.axvline(config.min_rho_low, color=SOFT, linewidth=0.9, linestyle=DASHES)
    axes.axvline(config.min_rho, color=LOSS, linewidth=0.9, linestyle=DASHES)
    for row, (_, bar) in enumerate(bars):
        _bar(axes, row, bar, least)
    for threshold, name, side, aside, colour in (
        (config.min_rho_low, worded("lower end from {low}", low=shortest(config.min_rho_low)), "right", -4, SOFT),
        (config.min_rho, worded("rho from {low}", low=shortest(config.min_rho)), "left", 4, LOSS),
    ):
        axes.annotate(
            name,
            (threshold, -0.75),
            xytext=(aside, 0),
            textcoords="offset points",
            color=colour,
            ha=side,
            va="center",
            fontsize=7.5,
        )
    axes.set_yticks(range(len(bars)), [name for name, _ in bars])
    axes.locator_params(axis="x", nbins=6)
    axes.set(xlim=(least - 0.03, 1.03), ylim=(len(bars) - 0.5, -1.1), xlabel=worded("rho with its 95 % interval"))


def _bar(axes: "Axes", row: int, found: Correlation, left: float) -> None:
    if found.rho is None:
        words = worded("unknown: too few, or constant")
        words_alone = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.text(left, row, words, color=SOFT, va="center", fontsize=8, bbox=words_alone)
        return
    if found.rho_low is not None and found.rho_high is not None:
        axes.plot([found.rho_low, found.rho_high], [row, row], color=_BLUE, linewidth=3, solid_capstyle="butt")
    axes.plot(found.rho, row, "o", color=_BLUE, markersize=7, markeredgecolor="white")
