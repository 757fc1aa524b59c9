"""Figures of the monitoring report, each an SVG element for a page or a file of its own."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

import polars as pl

from tasks.monitor.drift import ALL, Drift, DriftSeries, shown_by, sign_of
from tasks.report.canvas import BLUE, DASHES, INK, LOSS, SOFT, WIDTH, add_axes, canvas, svg
from tasks.report.number_format import decimal, short_day, shortest, written_day
from tasks.report.wording import worded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(daily: pl.DataFrame, drift: Drift, floor: float, hourly: pl.DataFrame | None = None) -> dict[str, str]:
    """Draw every figure, by name.

    Args:
        daily: The metrics by task and day.
        drift: The findings.
        floor: The fixed rule's mean reward.
        hourly: The same metrics by hour, which are drawn where there is but one day.

    Returns:
        `reward_TASK` for each task and for `all`, `evidence` of more than one day, and `latency`.
    """
    series, shown = drift.rewards, daily if hourly is None else hourly
    drawn = {
        f"reward_{name}": _reward(name, of_task, series.get(name), shown_by(name, drift.by_form), floor)
        for (name,), of_task in shown.group_by("task", maintain_order=True)
        if isinstance(name, str)
    }
    if any(len(each.days) > 1 for each in series.values()):
        drawn["evidence"] = _evidence(drift)
    drawn["latency"] = _latency(shown.filter(pl.col("task") == ALL))
    return drawn


def _reward(name: str, daily: pl.DataFrame, series: DriftSeries | None, what: str, floor: float) -> str:
    """Draw the mean of each day, or hour, with its interval, beside the baseline."""
    days = _places(daily["day"].to_list())
    with canvas(WIDTH, 2.5) as figure:
        axes = _axes(figure)
        axes.fill_between(days, daily["low"].to_list(), daily["high"].to_list(), color=BLUE, alpha=0.15, linewidth=0)
        axes.plot(days, daily["mean"].to_list(), "o-", color=BLUE, markersize=3.5, linewidth=1.4, label=_mean(what))
        values = {
            "mean": _mean(what).capitalize(),
            "name": worded(name),
            "first": decimal(daily["mean"][0]),
            "last": decimal(daily["mean"][-1]),
        }
        said = [
            worded("{mean} of {name} by hour, from {first} to {last}", **values)
            if _unit(daily) == "hour"
            else worded("{mean} of {name} by day, from {first} to {last}", **values)
        ]
        if series is not None:
            if _unit(daily) == "hour":
                axes.axhline(series.promised[-1], color=INK, linewidth=1.1, label=worded("evaluation"))
            else:
                axes.plot(_places(series.days), series.promised, color=INK, linewidth=1.1, label=worded("evaluation"))
            said.append(worded("at the evaluation {mean}", mean=decimal(series.promised[-1])))
            if series.alarm is not None:
                place = _places([series.alarm])[0] if _unit(daily) == "day" else days[-1]
                axes.axvline(place, color=LOSS, linewidth=1.2)
                axes.annotate(worded("alarm"), (place, 1.0), xycoords=("data", "axes fraction"), color=LOSS, fontsize=8)
                said.append(worded("alarm on {day}", day=written_day(series.alarm)))
        axes.axhline(
            floor, color=LOSS, linewidth=0.9, linestyle=DASHES, label=worded("floor {floor}", floor=shortest(floor))
        )
        axes.set_ylim(-0.02, 1.02)
        axes.set_ylabel(_mean(what))
        _name_days(axes, daily["day"].to_list())
        _name_lines(axes)
        return svg(figure, f"{'; '.join(said)}.")


def _evidence(drift: Drift) -> str:
    """Draw the evidence of each series of the reward relative to the alarm threshold, on a logarithmic scale."""
    series = list(drift.rewards.values())
    with canvas(WIDTH, 2.6) as figure:
        axes = _axes(figure)
        axes.set_yscale("log")
        axes.axhline(1.0, color=LOSS, linewidth=1.0, linestyle=DASHES)
        lowest = 1e-4
        for place, each in enumerate(series):
            heights = [max(value, lowest) for value in each.evidence]
            strong = each.name == ALL
            axes.plot(
                _places(each.days),
                heights,
                color=INK if strong else f"C{place % 10}",
                linewidth=1.8 if strong else 1.1,
                label=worded(each.name),
            )
        axes.set_yticks([1e-4, 1e-2, 1.0], [worded(word) for word in ("none", "slight", "alarm")])
        _name_days(axes, [day for each in series for day in each.days])
        _name_lines(axes)
        said = ", ".join(f"{worded(each.name)} {worded(sign_of(max(each.evidence)))}" for each in series)
        return svg(figure, worded("Strongest sign of drift: {signs}.", signs=said))


def _latency(daily: pl.DataFrame) -> str:
    """Draw the latency of the answers."""
    days = _places(daily["day"].to_list())
    with canvas(WIDTH, 2.3) as figure:
        axes = _axes(figure)
        for column, words, colour in (("latency_p50", "median", BLUE), ("latency_p95", "19 of 20 within", SOFT)):
            axes.plot(
                days, daily[column].to_list(), "o-", color=colour, markersize=3, linewidth=1.3, label=worded(words)
            )
        axes.set_ylim(bottom=0)
        axes.set_ylabel(worded("milliseconds"))
        _name_days(axes, daily["day"].to_list())
        _name_lines(axes)
        found = worded(
            "Latency; last: median {median} ms, 95 % within {most} ms.",
            median=decimal(daily["latency_p50"][-1], 0),
            most=decimal(daily["latency_p95"][-1], 0),
        )
        return svg(figure, found)


def _name_days(axes: "Axes", days: Sequence[date]) -> None:
    """Label at most seven days, or hours, each once."""
    every = sorted(set(days))
    step = -(-len(every) // 7)
    shown = every[::-1][::step][::-1]
    axes.set_xticks(
        _places(shown), [f"{each:%H}h" if isinstance(each, datetime) else short_day(each) for each in shown]
    )


def _unit(daily: pl.DataFrame) -> str:
    """Return `hour` where the figures are by hour, and `day` otherwise."""
    return "day" if daily.schema["day"] == pl.Date else "hour"


def _places(days: Sequence[date]) -> list[float]:
    """Return the positions of days on an axis."""
    from matplotlib.dates import date2num

    return [float(date2num(day)) for day in days]


def _axes(figure: "Figure") -> "Axes":
    """Add axes: numbers on the left, the legend above."""
    return add_axes(figure, left=0.75, right=0.2, bottom=0.35, top=0.32)


def _name_lines(axes: "Axes") -> None:
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.01, 0.99),
        ncols=4,
        frameon=False,
        fontsize=8,
        handlelength=1.6,
        borderpad=0,
    )


def _mean(what: str) -> str:
    return worded("mean form" if what == "form" else "mean reward")
