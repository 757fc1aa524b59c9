"""Shares of the gain in the report: what is left over each rung, and the split in form and content."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from tasks.evaluate.gain import CONTENT, FORM, OVERALL, GainShares, WithInterval
from tasks.evaluate.report.sentences import share
from tasks.report.canvas import GAIN, INK, LOSS, SOFT, WIDTH, add_axes, canvas, svg
from tasks.report.number_format import interval, signed
from tasks.report.wording import worded

COLOURS: Final[Mapping[str, str]] = {FORM: SOFT, CONTENT: GAIN}


class GainTable(NamedTuple):
    """Table of texts, whose first column names the task."""

    header: list[str]
    rows: list[list[str]]


def left_table(gains: Mapping[str, GainShares]) -> GainTable | None:
    """Return the share of the gain that is left over each rung; None where no gain is shown."""
    rungs = next((list(found.left) for found in gains.values() if found.left), [])
    if not rungs:
        return None
    header = [worded("task"), worded("gain"), *(worded("left over {rung}", rung=rung) for rung in rungs)]
    return GainTable(
        header,
        [
            [scope, signed(found.gain), *(share(found.left[rung]) if found.shown else "–" for rung in rungs)]
            for scope, found in _by_task(gains).items()
        ],
    )


def split_table(gains: Mapping[str, GainShares]) -> GainTable | None:
    """Return the parts of the gain and, beside them, what of it is in ground truth; None where nothing is split."""
    parts = next((list(found.parts) for found in gains.values() if found.parts), [])
    if not parts:
        return None
    return GainTable(
        [
            worded("task"),
            *(worded(part) for part in parts),
            worded("content is over"),
            worded("gain in ground truth"),
            worded("of it content"),
        ],
        [
            [
                scope,
                *(share(found.parts[part]) for part in parts),
                worded(found.over),
                _difference(found.truth),
                _difference(found.truth_left),
            ]
            if found.shown
            else [scope, *["–"] * (len(parts) + 3)]
            for scope, found in _by_task(gains).items()
        ],
    )


def draw_split(gains: Mapping[str, GainShares]) -> str:
    """Draw each gain that is shown as one bar of its parts, in score."""
    split = {scope: found for scope, found in _by_task(gains).items() if found.parts}
    height = 1.2 + 0.36 * len(split)
    with canvas(WIDTH, height) as figure:
        axes = add_axes(figure, left=0.95, right=0.2, bottom=0.5, top=0.55)
        starts = [0.0] * len(split)
        for part in COLOURS:
            widths = [found.parts[part].value * found.gain for found in split.values()]
            # What a rung has beyond the tuned model is a loss, drawn back from the rung's end.
            colours = [COLOURS[part] if width >= 0 else LOSS for width in widths]
            axes.barh(range(len(split)), widths, left=starts, height=0.55, color=colours)
            axes.plot([], [], "s", color=COLOURS[part], label=worded(part))
            starts = [start + width for start, width in zip(starts, widths, strict=True)]
        if any(found.parts[CONTENT].value < 0 for found in split.values()):
            axes.plot([], [], "s", color=LOSS, label=worded("more than the tuned model has"))
        axes.axvline(0, color=INK, linewidth=0.9)
        axes.set_yticks(range(len(split)), list(split))
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.set_xlabel(worded("gain in score, tuned minus base"))
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 0.99), ncols=2, frameon=False, fontsize=8)
        said = "; ".join(
            f"{scope} {', '.join(f'{worded(part)} {share(found.parts[part])}' for part in COLOURS)}"
            for scope, found in split.items()
        )
        return svg(figure, worded("Shares of the gain that are form and content: {shares}.", shares=said))


def _difference(found: WithInterval | None) -> str:
    return "–" if found is None else f"{signed(found.value)} ({interval(found.low, found.high)})"


def _by_task(gains: Mapping[str, GainShares]) -> dict[str, GainShares]:
    """Return the tasks' gains by their names, and last the one overall."""
    tasks = {task: found for task, found in gains.items() if task != OVERALL}
    return {**tasks, worded(OVERALL): gains[OVERALL]}
