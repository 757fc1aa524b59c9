"""Figures of the monitoring report, each an SVG element for a page or a file of its own.

Figures are drawn on their own objects, never through pyplot, so that no global state changes; text stays text, and
equal numbers give equal bytes.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import quoteattr

import polars as pl

from tasks.monitor.drift import ALL, Drift, DriftSeries

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURES_FOLDER: Final = "figures"

BLUE, LOSS, SOFT, INK, FAINT = "#2563eb", "#c2410c", "#475569", "#0f172a", "#cbd5e1"
_DASHES: Final = (0, (4, 3))


def draw(daily: pl.DataFrame, drift: Drift, floor: float) -> dict[str, str]:
    """Draw every figure, by name.

    Args:
        daily: The metrics by task and day.
        drift: The findings.
        floor: The fixed rule's mean reward.

    Returns:
        `reward_TASK` for each task and for `all`, `evidence`, and `latency`.
    """
    series = {each.name: each for each in drift.series}
    drawn = {
        f"reward_{name}": _reward(name, of_task, series.get(name), floor)
        for (name,), of_task in daily.group_by("task", maintain_order=True)
        if isinstance(name, str)
    }
    if drift.series:
        drawn["evidence"] = _evidence(drift)
    drawn["latency"] = _latency(daily.filter(pl.col("task") == ALL))
    return drawn


def write_figures(drawn: Mapping[str, str], folder: Path) -> None:
    """Write every figure to `figures/NAME.svg` in a folder, which is created if missing."""
    target = folder / FIGURES_FOLDER
    target.mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        (target / f"{name}.svg").write_text(figure, encoding="utf-8")


def _reward(name: str, daily: pl.DataFrame, series: DriftSeries | None, floor: float) -> str:
    """Draw the mean reward of each day with its interval, beside the baseline."""
    days = _places(daily["day"].to_list())
    with _canvas(7.6, 2.3) as figure:
        axes = _axes(figure)
        axes.fill_between(days, daily["low"].to_list(), daily["high"].to_list(), color=BLUE, alpha=0.15, linewidth=0)
        axes.plot(days, daily["mean"].to_list(), "o-", color=BLUE, markersize=3.5, linewidth=1.4, label="a day's mean")
        said = f"Mean reward of {name} by day, from {daily['mean'][0]:.3f} to {daily['mean'][-1]:.3f}"
        if series is not None:
            axes.plot(_places(series.days), series.promised, color=INK, linewidth=1.1, label="promised")
            said += f"; promised {series.promised[-1]:.3f}"
            if series.alarm is not None:
                (place,) = _places([series.alarm])
                axes.axvline(place, color=LOSS, linewidth=1.2)
                axes.annotate("alarm", (place, 1.0), xycoords=("data", "axes fraction"), color=LOSS, fontsize=8)
                said += f"; alarm on {series.alarm}"
        axes.axhline(floor, color=LOSS, linewidth=0.9, linestyle=_DASHES, label=f"floor {floor:g}")
        axes.set_ylim(-0.02, 1.02)
        axes.set_ylabel("mean reward")
        _name_days(axes, daily["day"].to_list())
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.03), frameon=False, fontsize=8, handlelength=1.6)
        return _svg(figure, f"{said}.")


def _evidence(drift: Drift) -> str:
    """Draw each series' evidence relative to the alarm threshold, on a logarithmic scale."""
    with _canvas(7.6, 2.6) as figure:
        axes = _axes(figure)
        axes.set_yscale("log")
        axes.axhline(1.0, color=LOSS, linewidth=1.0, linestyle=_DASHES)
        lowest = 1e-4
        for place, each in enumerate(drift.series):
            heights = [max(value, lowest) for value in each.evidence]
            strong = each.name == ALL
            axes.plot(
                _places(each.days),
                heights,
                color=INK if strong else f"C{place % 10}",
                linewidth=1.8 if strong else 1.1,
                label=each.name,
            )
        axes.set_ylabel("evidence of drift; alarm at 1")
        _name_days(axes, [day for each in drift.series for day in each.days])
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.03), frameon=False, fontsize=8, handlelength=1.6)
        most = {each.name: max(each.evidence, default=0.0) for each in drift.series}
        said = ", ".join(f"{name} {value:.2g}" for name, value in most.items())
        return _svg(figure, f"Largest evidence of drift, of the 1 that an alarm takes: {said}.")


def _latency(daily: pl.DataFrame) -> str:
    """Draw the latency of the answers."""
    days = _places(daily["day"].to_list())
    with _canvas(7.6, 2.1) as figure:
        axes = _axes(figure)
        for column, words, colour in (("latency_p50", "median", BLUE), ("latency_p95", "19 of 20 within", SOFT)):
            axes.plot(days, daily[column].to_list(), "o-", color=colour, markersize=3, linewidth=1.3, label=words)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("milliseconds")
        _name_days(axes, daily["day"].to_list())
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.03), frameon=False, fontsize=8, handlelength=1.6)
        found = f"median {daily['latency_p50'][-1]:.0f} ms, 95 % within {daily['latency_p95'][-1]:.0f} ms"
        return _svg(figure, f"Latency by day; on the last: {found}.")


def _name_days(axes: "Axes", days: Sequence[date]) -> None:
    """Label at most seven days, each once."""
    every = sorted(set(days))
    step = -(-len(every) // 7)
    shown = every[::-1][::step][::-1]
    axes.set_xticks(_places(shown), [f"{day:%d %b}" for day in shown])


def _places(days: Sequence[date]) -> list[float]:
    """Return the positions of days on an axis."""
    from matplotlib.dates import date2num

    return [float(date2num(day)) for day in days]


@contextmanager
def _canvas(width: float, height: float) -> "Iterator[Figure]":
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style = {
        "svg.fonttype": "none",
        "svg.hashsalt": "tucano",
        "font.size": 9,
        "axes.titley": 1.0,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": FAINT,
        "axes.labelcolor": SOFT,
        "xtick.color": SOFT,
        "ytick.color": SOFT,
    }
    with rc_context(style):
        yield Figure(figsize=(width, height))


def _axes(figure: "Figure") -> "Axes":
    """Add axes with margins in inches: numbers on the left, the legend on the right."""
    width, height = figure.get_size_inches()
    left, right, bottom, top = 0.65, 1.9, 0.35, 0.2
    return figure.add_axes(
        (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
    )


def _svg(figure: "Figure", label: str) -> str:
    target = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(target, format="svg", metadata=nothing)
    text = target.getvalue()
    element = text[text.index("<svg") :].replace("<svg", f'<svg role="img" aria-label={quoteattr(label)}', 1)
    # Groups are numbered from the start in each figure, and one page holds many; nothing refers to these numbers.
    return re.sub(r' id="[a-zA-Z0-9.]+_\d+"', "", element)
