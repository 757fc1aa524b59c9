"""The figures of the evaluation report, each as an SVG element to be put into the page.

Figures are drawn on objects of their own, never through pyplot, so that nothing global is changed; text stays text, and
the same numbers give the same bytes.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from schemas.tasks import TaskName
from tasks.evaluate.statistics import Block, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAIN, LOSS, NEUTRAL, INK, FAINT = "#0f766e", "#c2410c", "#64748b", "#0f172a", "#cbd5e1"
VERDICT_COLOURS: Mapping[Verdict, str] = {
    "better": GAIN,
    "non-inferior": "#2563eb",
    "worse": LOSS,
    "inconclusive": NEUTRAL,
}


def forest(overall: Block, tasks: Mapping[TaskName, Block], margin: float) -> str:
    """Draw every mean difference with its 95 % interval, the zero line and the margin."""
    rows = [*tasks.items(), ("overall", overall)]
    with _canvas(7.6, 0.9 + 0.42 * len(rows)) as (figure, axes):
        axes.axvline(0, color=INK, linewidth=0.9)
        axes.axvline(-margin, color=LOSS, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.axhline(len(rows) - 1.5, color=FAINT, linewidth=0.8)
        axes.text(-margin, -0.72, "margin ", color=LOSS, ha="right", va="center", fontsize=8)
        for row, (name, block) in enumerate(rows):
            colour = VERDICT_COLOURS[block.verdict]
            if block.ci_low is not None and block.ci_high is not None:
                axes.plot([block.ci_low, block.ci_high], [row, row], color=colour, linewidth=2.4)
            mark = "D" if name == "overall" else "o"
            axes.plot(block.mean_difference, row, mark, color=colour, markersize=7, markeredgecolor="white")
            label = f"{signed(block.mean_difference)}  {block.verdict}"
            axes.annotate(
                label, (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=8.5, color=colour
            )
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.set_ylim(len(rows) - 0.4, -1)
        axes.set_xlabel("mean difference in score, tuned minus base, with its 95 % interval")
        return _svg(figure)


def differences(values: Sequence[float]) -> str:
    """Draw each prompt's difference as a bar, from the largest loss to the largest gain, and the mean."""
    ordered = sorted(values)
    mean = sum(ordered) / len(ordered)
    with _canvas(7.6, 2.1) as (figure, axes):
        colours = [GAIN if value > 0 else LOSS for value in ordered]
        axes.bar(range(len(ordered)), ordered, color=colours, width=0.82)
        axes.axhline(0, color=INK, linewidth=0.9)
        axes.axhline(mean, color="#2563eb", linewidth=1.2, linestyle=(0, (4, 3)))
        axes.annotate(
            f"mean {signed(mean)}",
            (1.01, mean),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8.5,
            color="#2563eb",
        )
        axes.set_xticks([])
        axes.set_xlim(-0.8, len(ordered) - 0.2)
        axes.set_ylabel("tuned minus base")
        axes.set_xlabel(f"{len(ordered)} prompts, from the largest loss to the largest gain")
        return _svg(figure)


def learning_curve(points: Sequence[tuple[int, float]], chosen_step: int | None) -> str:
    """Draw the validation reward over the training steps, with the step whose checkpoint was chosen."""
    steps, rewards = zip(*sorted(points), strict=True)
    with _canvas(7.6, 2.6) as (figure, axes):
        axes.plot(steps, rewards, color=GAIN, linewidth=2, marker="o", markersize=4)
        chosen = [(step, reward) for step, reward in points if step == chosen_step]
        for step, reward in chosen:
            axes.axvline(step, color=NEUTRAL, linewidth=0.9, linestyle=(0, (4, 3)))
            axes.plot(step, reward, "o", color=LOSS, markersize=8, markeredgecolor="white")
            axes.annotate(
                f"chosen: step {step}, {reward:.3f}",
                (1.01, reward),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=8.5,
                color=LOSS,
            )
        axes.set_xlabel("training step")
        axes.set_ylabel("validation reward")
        return _svg(figure)


def signed(value: float) -> str:
    """Write a difference with its sign, the minus as wide as the plus."""
    return f"{value:+.3f}".replace("-", "−")


@contextmanager
def _canvas(width: float, height: float) -> "Iterator[tuple[Figure, Axes]]":
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style = {
        "svg.fonttype": "none",
        "svg.hashsalt": "tucano",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": FAINT,
        "axes.labelcolor": NEUTRAL,
        "xtick.color": NEUTRAL,
        "ytick.color": INK,
    }
    with rc_context(style):
        figure = Figure(figsize=(width, height))
        yield figure, figure.add_axes((0.115, 0.5 / height, 0.70, 1 - 0.6 / height))


def _svg(figure: "Figure") -> str:
    target = io.StringIO()
    figure.savefig(target, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = target.getvalue()
    return text[text.index("<svg") :]
