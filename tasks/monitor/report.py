"""Monitoring report, as one HTML file that needs no network and as Markdown for Prefect's page.

Neither contains any text of a shopper or of a model: only metrics, and the logged model names, which the page escapes
and spells out. The same logs give the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

import polars as pl

from schemas.config.serve import MonitorConfig
from tasks.monitor.drift import Drift, DriftSeries, shown_by, sign_of
from tasks.monitor.series import ALL
from tasks.report.canvas import BLUE, DASHES, INK, LOSS, WIDTH, add_axes, canvas, svg
from tasks.report.number_format import amount, decimal, percent, short_day, shortest, written_day
from tasks.report.page import page_template
from tasks.report.wording import counted, worded

REPORT_PAGE: Final = "report.html"
DATA_FILES: Final = ("tasks/monitor/report.html.j2",)
_TEMPLATE: Final = Path(__file__).with_name("report.html.j2")
_UNKNOWN: Final = "–"
WIDEST: Final = 0.4
"""Width of a day's 95 % interval beyond which its mean says too little: that of some eight equal answers."""
_NOT_AS_PROMISED: Final[Mapping[str, str]] = {
    "lower that day": "Lower on the last day, which alone may be luck: {tasks}.",
    "higher that day": "Higher on the last day: {tasks}.",
    "too few to tell": "Too few answers on the last day to tell: {tasks}.",
}
"""Verdicts on the last day that no promise explains, and a sentence of each."""


@dataclass(frozen=True)
class Page:
    """Contents of the report: `drift.json`, the metrics by task and day, and what they are of."""

    document: Mapping[str, Any]
    daily: pl.DataFrame
    drift: Drift
    config: MonitorConfig


def _headline(page: Page) -> str:
    """Summarize the findings in a sentence."""
    champion, last_day = page.document["champion"], _day(page.document["logs"]["last_day"])
    who = worded("Version {version} of {model}", version=champion["version"], model=champion["model"])
    if page.drift.found:
        failed = counted(len(page.drift.fallen), "in one place", "in {n} places")
        return worded("{who} fell short {places} in the days up to {day}.", who=who, places=failed, day=last_day)
    if page.document["operations"]:
        return worded("{who} answers as it did; the service does not.", who=who)
    return f"{who}: {promise_sentence(page.document['drift'])}."


def promise_sentence(drift: Mapping[str, Any]) -> str:
    """State what an absence of drift means, given `drift` of `drift.json`."""
    if not drift["by_form"]:
        return worded("nothing is shown to be worse than its evaluation promised")
    return worded(
        "nothing is shown to be worse than at its evaluation; of {tasks} only the form is known",
        tasks=", ".join(drift["by_form"]),
    )


def alarm_sentences(found: Mapping[str, Any]) -> list[str]:
    """Return the sentences of all alarms of `drift.json`."""
    return [*found["drift"]["reasons"], *(alarm["reason"] for alarm in found["operations"])]


def finding_sentences(found: Mapping[str, Any]) -> list[str]:
    """State what was read, the answers with a reference, and ratings, given `drift.json`."""
    sentences = [_read_sentence(found["logs"])]
    sentences += [
        worded(
            "{task}: {answers} answers with a reference have the mean reward {mean}, the evaluation's {promised}.",
            task=known["task"],
            answers=decimal(known["answers"], 0),
            mean=decimal(known["mean"]),
            promised=decimal(known["promised"]),
        )
        for known in found["known"]
    ]
    if ratings := found["ratings"]:
        message = "{task} {mean} of {answers} answers"
        said = (
            worded(message, task=task, mean=decimal(each["mean"], 2), answers=decimal(each["answers"], 0))
            for task, each in ratings.items()
        )
        sentences.append(worded("Ratings from 1 to 5, on average: {ratings}.", ratings="; ".join(said)))
    return sentences


def _read_sentence(logs: Mapping[str, Any]) -> str:
    read = worded(
        "{answers} answers of {first} to {last}, from {rows} rows of {files}",
        answers=decimal(logs["answers"], 0),
        first=_day(logs["first_day"]),
        last=_day(logs["last_day"]),
        rows=decimal(logs["rows"], 0),
        files=counted(logs["files"], "{n} file", "{n} files"),
    )
    if logs["empty_files"]:
        read = f"{read} {worded('({n} more are empty)', n=logs['empty_files'])}"
    left_out = [
        worded("{n} left out, {why}", n=decimal(count, 0), why=worded(why)) for why, count in logs["left_out"].items()
    ]
    read = f"{'; '.join([read, *left_out])}."
    if not logs["feedback"]["lines"]:
        return read
    joined = worded(
        "{lines} lines of feedback gave {references} answers a reference and {ratings} a rating; {unknown} "
        "requests in it are not in the logs.",
        **{name: decimal(count, 0) for name, count in logs["feedback"].items()},
    )
    return f"{read} {joined}"


def _rate_sentence(drift: Drift) -> str:
    return worded(
        "A false alarm of drift comes once in {rate} days or more rarely; a loss of {tolerance} is no drift.",
        rate=decimal(drift.days_between_false_alarms, 0),
        tolerance=shortest(drift.tolerance),
    )


def _last_days(page: Page) -> Iterator[tuple[str, ...]]:
    """Yield the last day of each task, `all` first, beside the baseline; the second cell is an English verdict."""
    last_day = _day(page.document["logs"]["last_day"])
    for last in page.daily.group_by("task", maintain_order=True).last().iter_rows(named=True):
        name, day = last["task"], written_day(last["day"])
        known = page.drift.rewards.get(name)
        promised = decimal(known.promised[-1]) if known else _UNKNOWN
        yield (
            worded(name) if day == last_day else f"{worded(name)}, {day}",
            _verdict(last, known, page),
            f"{worded(shown_by(name, page.drift.by_form))} {promised} → {decimal(last['mean'])}",
            worded("{low} to {high}", low=decimal(last["low"]), high=decimal(last["high"])),
            decimal(last["answers"], 0),
            worded(sign_of(known.evidence[-1])) if known else _UNKNOWN,
            _UNKNOWN if last["valid_share"] is None else percent(last["valid_share"], 1),
            _UNKNOWN if last["answered_share"] is None else percent(last["answered_share"], 1),
            f"{decimal(last['latency_p50'], 0)} / {decimal(last['latency_p95'], 0)}",
            _UNKNOWN if last["cost_per_analysis"] is None else amount(last["cost_per_analysis"]),
        )


def _verdict(last: Mapping[str, Any], known: DriftSeries | None, page: Page) -> str:
    """Return the verdict on a task's last day, or on all, which are no series of their own with a single task."""
    name, drift = last["task"], page.drift
    if name in drift.fallen:
        is_drift = any(each.name == name and each.alarm for each in drift.series)
        return "drift" if is_drift or (known is None and name == ALL) else "floor"
    if known is None:
        return _UNKNOWN if name == ALL else "no promise"
    if last["high"] - last["low"] > WIDEST:
        return "too few to tell"
    if not last["low"] <= known.promised[-1] <= last["high"]:
        return "lower that day" if last["mean"] < known.promised[-1] else "higher that day"
    return "form as before" if known.measure == "form" else "as promised"


def write_report(page: Page, folder: Path, markdown_name: str) -> None:
    """Write the page and its Markdown, which has no figures, into a folder."""
    rows = list(_last_days(page))
    verdicts = {row[1] for row in rows}
    kept = "form as before" if page.drift.by_form else "as promised"
    kept = "too few to tell" if {row[1] for row in rows[1:]} <= {"too few to tell", "no promise"} else kept
    kept = next((each for each in ("lower that day", "higher that day") if each in verdicts), kept)
    named = {each: ", ".join(row[0] for row in rows if row[1] == each) for each in _NOT_AS_PROMISED}
    last = [worded(_NOT_AS_PROMISED[each], tasks=tasks) for each, tasks in named.items() if tasks]
    results = ("task", "verdict", "evaluation → last day", "95 % interval", "answers", "sign of drift")
    beside = ("valid form", "not empty, no refusal", "latency, ms p50 / p95", "cost of an analysis")
    header = [*map(worded, (*results, *beside))]
    shown: dict[str, Any] = {
        "headline": _headline(page),
        "word": "drift" if page.drift.found else "alarm" if page.document["operations"] else kept,
        "alarms": alarm_sentences(page.document),
        "found": [*last, *finding_sentences(page.document)],
        "last_day": f"{worded('The last day of each task')}, {_day(page.document['logs']['last_day'])}",
        "header": header,
        "rows": rows,
        "notes": [*page.document["notes"], _rate_sentence(page.drift)],
    }
    cells = [[task, worded(verdict), *others] for task, verdict, *others in rows]
    table = [header, ["---", *["---:"] * (len(header) - 1)], *cells]
    paragraphs = [
        *(f"# {worded('Monitoring')}", f"**{shown['headline']}**", _bulleted(shown["alarms"]), *shown["found"]),
        *(f"## {shown['last_day']}", "\n".join(f"| {' | '.join(row)} |" for row in table)),
        *(f"## {worded('What exactly was compared with what')}", _bulleted(shown["notes"])),
    ]
    (folder / markdown_name).write_text("\n\n".join(filter(None, paragraphs)) + "\n", encoding="utf-8")
    shown["figures"] = [
        (f"{worded(str(name))}, {worded(shown_by(str(name), page.drift.by_form))}", _draw_means(str(name), daily, page))
        for (name,), daily in page.daily.group_by("task", maintain_order=True)
    ]
    (folder / REPORT_PAGE).write_text(page_template(_TEMPLATE).render(**shown), encoding="utf-8")


def _bulleted(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _day(written: str) -> str:
    """Format a day of `drift.json`."""
    return written_day(date.fromisoformat(written))


def _draw_means(name: str, daily: pl.DataFrame, page: Page) -> str:
    """Draw the mean of each day with its interval, beside the baseline."""
    days, floor = daily["day"].to_list(), page.config.floor
    series: Any = page.drift.rewards.get(name)  # matplotlib's types have no dates
    mean = worded("mean form") if shown_by(name, page.drift.by_form) == "form" else worded("mean reward")
    with canvas(WIDTH, 2.5) as figure:
        axes: Any = add_axes(figure, left=0.75, right=0.2, bottom=0.35, top=0.32)
        axes.fill_between(days, daily["low"].to_list(), daily["high"].to_list(), color=BLUE, alpha=0.15, linewidth=0)
        axes.plot(days, daily["mean"].to_list(), "o-", color=BLUE, markersize=3.5, linewidth=1.4, label=mean)
        first, last = decimal(daily["mean"][0]), decimal(daily["mean"][-1])
        message = "{mean} of {name} by day, from {first} to {last}"
        said = [worded(message, mean=mean.capitalize(), name=worded(name), first=first, last=last)]
        if series is not None:
            axes.plot(series.days, series.promised, color=INK, linewidth=1.1, label=worded("evaluation"))
            said.append(worded("at the evaluation {mean}", mean=decimal(series.promised[-1])))
            if series.alarm is not None:
                at = series.alarm
                axes.axvline(at, color=LOSS, linewidth=1.2)
                place: dict[str, Any] = {"xytext": (-3, 3), "textcoords": "offset points", "ha": "right"}
                axes.annotate(worded("alarm"), (at, 0), color=LOSS, fontsize=8, **place)
                said.append(worded("alarm on {day}", day=written_day(series.alarm)))
        label = worded("floor {floor}", floor=shortest(floor))
        axes.axhline(floor, color=LOSS, linewidth=0.9, linestyle=DASHES, label=label)
        axes.set_ylim(-0.02, 1.02)
        axes.set_ylabel(mean)
        # At most seven days are named.
        named = days[::-1][:: -(-len(days) // 7)][::-1]
        axes.set_xticks(named, [short_day(each) for each in named])
        look: dict[str, Any] = {"frameon": False, "fontsize": 8, "handlelength": 1.6, "borderpad": 0}
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 0.99), ncols=4, **look)
        return svg(figure, f"{'; '.join(said)}.")
