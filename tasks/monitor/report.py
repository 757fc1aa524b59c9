"""Monitoring report: its parts once, as one HTML file that needs no network and as Markdown for Prefect's page.

Neither contains any text of a shopper or of a model: only metrics, and the logged model names, which the page escapes
and spells out. The same logs give the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl

from schemas.config.monitor import MonitorConfig
from tasks.monitor.drift import Drift, DriftSeries, shown_by, sign_of
from tasks.monitor.series import ALL
from tasks.monitor.trials import ChallengerTrial, trial_sentence
from tasks.report.canvas import BLUE, DASHES, INK, LOSS, WIDTH, add_axes, canvas, svg
from tasks.report.number_format import amount, decimal, percent, short_day, shortest, signed, written_day
from tasks.report.page import page_template
from tasks.report.wording import counted, worded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REPORT_PAGE: Final = "report.html"
DATA_FILES: Final = ("tasks/monitor/report.html.j2",)
_TEMPLATE: Final = Path(__file__).with_name("report.html.j2")
_UNKNOWN: Final = "–"


@dataclass(frozen=True)
class Page:
    """Contents of the report."""

    document: Mapping[str, Any]
    """Content of `drift.json`."""
    daily: pl.DataFrame
    """The metrics by task and day."""
    drift: Drift
    trials: tuple[ChallengerTrial, ...]
    config: MonitorConfig


class VerdictWord(NamedTuple):
    """A cell with a verdict, which the page colours; its word is English, and stays to be worded."""

    word: str


class Part(NamedTuple):
    """A heading, a sentence, a list, a table or a figure of the report."""

    kind: str
    """`heading`, `text`, `note`, `list`, `table` or `figure`."""
    text: str
    """Its words; the name of a table or figure, for readers who do not see it."""
    items: Sequence[Any] = ()
    """Sentences of a list; rows of a table, the first of which is its header; the SVG of a figure."""


def headline(page: Page) -> str:
    """Summarize the findings in a sentence."""
    champion, logs = page.document["champion"], page.document["logs"]
    who = worded("Version {version} of {model}", version=champion["version"], model=champion["model"])
    if page.drift.found:
        failed = counted(len(page.drift.fallen), "in one place", "in {n} places")
        return worded(
            "{who} fell short {places} in the days up to {day}.", who=who, places=failed, day=_day(logs["last_day"])
        )
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
    """State what was read, the answers with a reference, ratings and cost, given `drift.json`."""
    sentences = [_read_sentence(found["logs"]), *map(_known_sentence, found["known"])]
    if ratings := found["ratings"]:
        said = (
            worded(
                "{task} {mean} of {answers} answers",
                task=task,
                mean=decimal(each["mean"], 2),
                answers=decimal(each["answers"], 0),
            )
            for task, each in ratings.items()
        )
        sentences.append(worded("Ratings from 1 to 5, on average: {ratings}.", ratings="; ".join(said)))
    return [*sentences, _cost_sentence(found["serving"])]


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
    feedback = logs["feedback"]
    if not feedback["lines"]:
        return read
    message = "{lines} lines of feedback gave {references} answers a reference and {ratings} a rating."
    if feedback["unknown"]:
        message = (
            "{lines} lines of feedback gave {references} answers a reference and {ratings} a rating; {unknown} "
            "requests in it are not in the logs."
        )
    counts = {name: decimal(feedback[name], 0) for name in ("lines", "references", "ratings", "unknown")}
    return f"{read} {worded(message, **counts)}"


def _known_sentence(known: Mapping[str, Any]) -> str:
    message = "{task}: {answers} answers with a reference have the mean reward {mean}, the evaluation's {promised}."
    if known["measure"] == "correction":
        message = (
            "{task}: {answers} answers with a reference have the mean reward {mean}, the evaluation's {promised}; "
            "people chose which to correct, so that is no sample, and the others count as right in its test."
        )
    values = {name: decimal(known[name]) for name in ("mean", "promised")}
    return worded(message, task=known["task"], answers=decimal(known["answers"], 0), **values)


def _cost_sentence(serving: Mapping[str, Any]) -> str:
    sentence = worded(
        "An analysis costs {own}, by the costs that were logged, of {share} of the answers; an API's costs {api}."
        if serving["source"] == "logged"
        else "An analysis costs {own}, by the price of a machine that runs all day; an API's costs {api}.",
        own=amount(serving["cost_per_analysis"]),
        share=percent(serving["costed_share"]),
        api=amount(serving["api_price_per_analysis"]),
    )
    if serving["break_even"] == 0:
        return sentence
    if serving["break_even"] is None:
        never = worded("There is no number of answers a day from which on the machine is the cheaper one.")
        return f"{sentence} {never}"
    from_then = worded(
        "From {break_even} answers a day on, the machine is the cheaper one; there were {answers} a day.",
        break_even=decimal(serving["break_even"], 0),
        answers=decimal(serving["answers_a_day"], 0),
    )
    return f"{sentence} {from_then}"


def _rate_sentence(page: Page) -> str:
    drift, config = page.drift, page.config
    return worded(
        "While nothing drifts, an alarm of drift comes once in {rate} days or more rarely, over all tasks together, "
        "where days are looked at as they add up; that daily runs, which look at the last {days} days each, have no "
        "more is simulated only. A loss of {tolerance} is no drift. Where the promise is above {floor} for certain, or "
        "none is known, a task's day of {answers} answers or more whose mean reward is below that by more than luck "
        "brings about in as many days is an alarm too, beside those of drift.",
        rate=decimal(drift.days_between_false_alarms, 0),
        days=config.days,
        tolerance=shortest(drift.tolerance),
        floor=shortest(config.floor),
        answers=config.floor_answers,
    )


def _parts(page: Page) -> Iterator[Part]:
    """Yield the parts below the headline and the alarms."""
    found = page.document
    yield from (Part("text", sentence) for sentence in finding_sentences(found))
    yield Part("note", _rate_sentence(page))
    yield Part("heading", f"{worded('The last day of each task')}, {_day(found['logs']['last_day'])}")
    yield _last_days(page)
    if page.trials:
        yield Part("heading", worded("Challengers beside the champion"))
        yield from (part for trial in page.trials for part in _trial(trial))
        yield Part("note", trial_sentence(page.trials))
    if any(len(each.days) > 1 for each in page.drift.rewards.values()):
        yield Part("heading", worded("Signs of drift"))
        message = "Where nothing drifts there is no sign, and a single bad day seldom makes a strong one."
        yield Part("note", worded(message))
        yield Part("figure", worded("Signs of drift"), [_draw_evidence(page.drift)])
    yield Part("heading", worded("Mean by day"))
    for (name,), of_task in page.daily.group_by("task", maintain_order=True):
        title = f"{worded(str(name))}, {worded(shown_by(str(name), page.drift.by_form))}"
        yield Part("figure", title, [_draw_means(str(name), of_task, page)])
    yield Part("heading", worded("What exactly was compared with what"))
    yield Part("list", "", found["notes"])
    yield Part(
        "text",
        worded(
            "Rewards {spec} {version}; scored with references: {tasks}.",
            spec=found["rewards"]["spec"],
            version=found["rewards"]["version"][:12],
            tasks=", ".join(found["rewards"]["with_references"]) or _UNKNOWN,
        ),
    )
    promised = [
        (task, decimal(each["mean"]), decimal(each["standard_error"]), each["prompts"], each["answers"])
        for task, each in found["baselines"].items()
    ]
    promise = (
        worded("task"),
        worded("promised mean"),
        worded("its standard error"),
        worded("prompts of the test"),
        worded("answers"),
    )
    yield Part("table", worded("What was promised"), [promise, *promised])
    models = [(name, decimal(count, 0)) for name, count in found["logs"]["model_versions"].items()]
    if others := found["logs"]["of_other_model_versions"]:
        models.append((worded("all others"), decimal(others, 0)))
    header = (worded("model that answered, as it was logged"), worded("answers"))
    yield Part("table", worded("Models that answered"), [header, *models])


def _last_days(page: Page) -> Part:
    """Return the last day of each task, `all` first, beside the baseline."""
    series, fallen = page.drift.rewards, page.drift.fallen
    header = (
        worded("task"),
        worded("verdict"),
        worded("shows"),
        worded("answers"),
        worded("mean"),
        worded("95 % interval"),
        worded("evaluation"),
        worded("sign of drift"),
        worded("valid form"),
        worded("not empty, no refusal"),
        worded("latency, ms p50 / p95"),
        worded("cost of an analysis"),
    )
    rows: list[tuple[Any, ...]] = [header]
    last_day = _day(page.document["logs"]["last_day"])
    for last in page.daily.group_by("task", maintain_order=True).last().iter_rows(named=True):
        name, day = last["task"], written_day(last["day"])
        known = series.get(name)
        verdict = _verdict(name, known, page.drift) if name in fallen else _verdict_of_none(name, known)
        rows.append(
            (
                worded(name) if day == last_day else f"{worded(name)}, {day}",
                VerdictWord(verdict),
                worded(shown_by(name, page.drift.by_form)),
                decimal(last["answers"], 0),
                decimal(last["mean"]),
                worded("{low} to {high}", low=decimal(last["low"]), high=decimal(last["high"])),
                decimal(known.promised[-1]) if known else _UNKNOWN,
                worded(sign_of(known.evidence[-1])) if known else _UNKNOWN,
                _percent(last["valid_share"]),
                _percent(last["answered_share"]),
                f"{decimal(last['latency_p50'], 0)} / {decimal(last['latency_p95'], 0)}",
                _UNKNOWN if last["cost_per_analysis"] is None else amount(last["cost_per_analysis"]),
            )
        )
    return Part("table", worded("The last day of each task"), rows)


def _verdict(name: str, known: DriftSeries | None, drift: Drift) -> str:
    is_drift = any(each.name == name and each.alarm for each in drift.series)
    return "drift" if is_drift or (known is None and name == ALL) else "floor"


def _verdict_of_none(name: str, known: DriftSeries | None) -> str:
    """Return the verdict where there is no alarm; with a single task, all together are no series of their own."""
    if known is None:
        return _UNKNOWN if name == ALL else "no promise"
    return "form as before" if known.measure == "form" else "as promised"


def _trial(trial: ChallengerTrial) -> Iterator[Part]:
    yield Part("text", f"{trial.reason()}.")
    if not trial.series:
        return
    header = (
        worded("task"),
        worded("verdict"),
        worded("differences"),
        worded("answers"),
        worded("challenger less champion"),
        worded("at least"),
        worded("at most"),
    )
    rows = [
        (
            worded(each.name),
            VerdictWord(each.finding),
            decimal(each.differences, 0),
            decimal(each.answers, 0),
            *map(signed, (each.mean, each.low, each.high)),
        )
        for each in trial.series
    ]
    title = worded("{challenger} beside the champion", challenger=trial.challenger)
    yield Part("table", title, [header, *rows])


def write_report(page: Page, folder: Path, markdown_name: str) -> None:
    """Write the page and its Markdown into a folder."""
    alarms, parts = alarm_sentences(page.document), list(_parts(page))
    lines = [f"# {worded('Monitoring')}", f"**{headline(page)}**", "\n".join(f"- {alarm}" for alarm in alarms)]
    lines += [_as_markdown(part) for part in parts]
    (folder / markdown_name).write_text("\n\n".join(filter(None, lines)) + "\n", encoding="utf-8")
    kept = "form as before" if page.drift.by_form else "as promised"
    word = "drift" if page.drift.found else "alarm" if page.document["operations"] else kept
    sections: list[list[Part]] = [[]]
    for part in parts:
        if part.kind == "heading":
            sections.append([])
        sections[-1].append(part)
    text = page_template(_TEMPLATE).render(headline=headline(page), word=word, alarms=alarms, sections=sections)
    (folder / REPORT_PAGE).write_text(text, encoding="utf-8")


def _as_markdown(part: Part) -> str:
    match part.kind:
        case "heading":
            return f"## {part.text}"
        case "list":
            return "\n".join(f"- {item}" for item in part.items)
        case "table":
            cells = [
                [worded(cell.word) if isinstance(cell, VerdictWord) else str(cell) for cell in row]
                for row in part.items
            ]
            cells.insert(1, ["---", *["---:"] * (len(cells[0]) - 1)])
            return "\n".join(f"| {' | '.join(row)} |" for row in cells)
        case "figure":
            return ""
    return part.text


def _percent(share: float | None) -> str:
    return _UNKNOWN if share is None else percent(share, 1)


def _day(written: str) -> str:
    """Format a day of `drift.json`."""
    return written_day(date.fromisoformat(written))


def _draw_means(name: str, daily: pl.DataFrame, page: Page) -> str:
    """Draw the mean of each day with its interval, beside the baseline."""
    days, series, floor = _places(daily["day"].to_list()), page.drift.rewards.get(name), page.config.floor
    by_form = shown_by(name, page.drift.by_form) == "form"
    mean = worded("mean form") if by_form else worded("mean reward")
    with canvas(WIDTH, 2.5) as figure:
        axes = add_axes(figure, left=0.75, right=0.2, bottom=0.35, top=0.32)
        axes.fill_between(days, daily["low"].to_list(), daily["high"].to_list(), color=BLUE, alpha=0.15, linewidth=0)
        axes.plot(days, daily["mean"].to_list(), "o-", color=BLUE, markersize=3.5, linewidth=1.4, label=mean)
        first, last = decimal(daily["mean"][0]), decimal(daily["mean"][-1])
        message = "{mean} of {name} by day, from {first} to {last}"
        said = [worded(message, mean=mean.capitalize(), name=worded(name), first=first, last=last)]
        if series is not None:
            axes.plot(_places(series.days), series.promised, color=INK, linewidth=1.1, label=worded("evaluation"))
            said.append(worded("at the evaluation {mean}", mean=decimal(series.promised[-1])))
            if series.alarm is not None:
                (place,) = _places([series.alarm])
                axes.axvline(place, color=LOSS, linewidth=1.2)
                axes.annotate(worded("alarm"), (place, 1.0), xycoords=("data", "axes fraction"), color=LOSS, fontsize=8)
                said.append(worded("alarm on {day}", day=written_day(series.alarm)))
        label = worded("floor {floor}", floor=shortest(floor))
        axes.axhline(floor, color=LOSS, linewidth=0.9, linestyle=DASHES, label=label)
        axes.set_ylim(-0.02, 1.02)
        axes.set_ylabel(mean)
        _name_days_and_lines(axes, daily["day"].to_list())
        return svg(figure, f"{'; '.join(said)}.")


def _draw_evidence(drift: Drift) -> str:
    """Draw the evidence of each series of the reward relative to the alarm threshold, on a logarithmic scale."""
    series = list(drift.rewards.values())
    with canvas(WIDTH, 2.6) as figure:
        axes = add_axes(figure, left=0.75, right=0.2, bottom=0.35, top=0.32)
        axes.set_yscale("log")
        axes.axhline(1.0, color=LOSS, linewidth=1.0, linestyle=DASHES)
        for place, each in enumerate(series):
            look: dict[str, Any] = {"color": f"C{place % 10}", "linewidth": 1.1}
            look = {"color": INK, "linewidth": 1.8} if each.name == ALL else look
            heights = [max(value, 1e-4) for value in each.evidence]
            axes.plot(_places(each.days), heights, label=worded(each.name), **look)
        axes.set_yticks([1e-4, 1e-2, 1.0], [worded(word) for word in ("none", "slight", "alarm")])
        _name_days_and_lines(axes, [day for each in series for day in each.days])
        said = ", ".join(f"{worded(each.name)} {worded(sign_of(max(each.evidence)))}" for each in series)
        return svg(figure, worded("Strongest sign of drift: {signs}.", signs=said))


def _name_days_and_lines(axes: "Axes", days: Sequence[date]) -> None:
    """Label at most seven days, each once, and the lines above the axes."""
    every = sorted(set(days))
    shown = every[::-1][:: -(-len(every) // 7)][::-1]
    axes.set_xticks(_places(shown), [short_day(each) for each in shown])
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.01, 0.99),
        ncols=4,
        frameon=False,
        fontsize=8,
        handlelength=1.6,
        borderpad=0,
    )


def _places(days: Sequence[date]) -> list[float]:
    """Return the positions of days on an axis."""
    from matplotlib.dates import date2num

    return [float(date2num(day)) for day in days]
