"""Monitoring report: one HTML file that needs no network, and its short form as Markdown.

Neither contains any text of a shopper or of a model: only metrics, and the logged model names, which the page escapes
and spells out. The same logs give the same bytes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

import polars as pl

from schemas.config.monitor import MonitorConfig
from schemas.tasks import TASK_NAMES
from tasks.monitor.drift import ALL, Drift, DriftSeries, shown_by, sign_of
from tasks.monitor.measures import known_sentence
from tasks.monitor.trials import ChallengerTrial, trial_sentence
from tasks.report.number_format import amount, decimal, percent, shortest, signed, written_day
from tasks.report.page import page_template
from tasks.report.wording import counted, worded

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


@dataclass(frozen=True)
class TaskRow:
    """Last day of one task, or of all, beside the baseline."""

    name: str
    day: str
    answers: str
    mean: str
    interval: str
    promised: str
    valid: str
    characters: str
    latency: str
    cost: str
    verdict: str
    """`drift`, `floor`, `as promised`, `form as before` or `no promise`; a dash if nothing was tested."""
    shows: str
    """`reward`, or `form` where only that is known."""
    answered: str
    """Share of answers that are neither empty nor a refusal."""
    sign: str
    """Sign of drift, in a word."""


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


def lines(page: Page) -> list[TaskRow]:
    """Return the last day of each task, `all` first."""
    series, fallen = page.drift.rewards, page.drift.fallen
    found = []
    for name in (ALL, *TASK_NAMES):
        of_task = page.daily.filter(pl.col("task") == name)
        if not of_task.height:
            continue
        last, known = of_task.row(-1, named=True), series.get(name)
        found.append(
            TaskRow(
                name=name,
                day=written_day(last["day"]),
                answers=decimal(last["answers"], 0),
                mean=decimal(last["mean"]),
                interval=worded("{low} to {high}", low=decimal(last["low"]), high=decimal(last["high"])),
                promised=decimal(known.promised[-1]) if known else _UNKNOWN,
                valid=_percent(last["valid_share"]),
                characters=decimal(last["characters"], 0),
                latency=f"{decimal(last['latency_p50'], 0)} / {decimal(last['latency_p95'], 0)}",
                cost=_dollars(last["cost_per_analysis"]),
                verdict=_verdict(name, known, page.drift) if name in fallen else _verdict_of_none(name, known),
                shows=shown_by(name, page.drift.by_form),
                answered=_percent(last["answered_share"]),
                sign=sign_of(known.evidence[-1]) if known else _UNKNOWN,
            )
        )
    return found


def _verdict(name: str, known: DriftSeries | None, drift: Drift) -> str:
    is_drift = any(each.name == name and each.alarm for each in drift.series)
    return "drift" if is_drift or (known is None and name == ALL) else "floor"


def _verdict_of_none(name: str, known: DriftSeries | None) -> str:
    """Return the verdict where there is no alarm; with a single task, all together are no series of their own."""
    if known is None:
        return _UNKNOWN if name == ALL else "no promise"
    return "form as before" if known.measure == "form" else "as promised"


def cost_sentence(serving: Mapping[str, Any]) -> str:
    """State the cost of an analysis, and the daily volume from which it is below the API's price."""
    sentence = worded(
        "An analysis costs {own}, by the costs that were logged, of {share} of the answers; an API's costs {api}."
        if serving["source"] == "logged"
        else "An analysis costs {own}, by the price of a machine that runs all day; an API's costs {api}.",
        own=_dollars(serving["cost_per_analysis"]),
        share=percent(serving["costed_share"]),
        api=_dollars(serving["api_price_per_analysis"]),
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


def markdown(page: Page) -> str:
    """Render the report as Markdown, for Prefect's page."""
    header = [
        *("task", "verdict", "shows", "answers", "mean", "95 % interval", "evaluation"),
        *("valid", "answered", "characters", "p50 / p95 ms", "cost"),
    ]
    rows = [
        [
            *(worded(x.name), worded(x.verdict), worded(x.shows), x.answers, x.mean, x.interval, x.promised),
            *(x.valid, x.answered, x.characters, x.latency, x.cost),
        ]
        for x in lines(page)
    ]
    parts = [
        f"# {worded('Monitoring')}",
        f"**{headline(page)}**",
        _bullets(alarm_sentences(page.document)),
        worded("The last day, {day}:", day=_day(page.document["logs"]["last_day"])),
        _table(header, rows),
        *(known_sentence(each) for each in page.document["known"]),
        ratings_sentence(page.document["ratings"]),
        *(_of_trial(trial) for trial in page.trials),
        trial_sentence(page.trials),
        cost_sentence(page.document["serving"]),
        rate_sentence(page),
        "\n".join([read_sentence(page), "", _bullets(page.document["notes"])]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def alarm_sentences(found: Mapping[str, Any]) -> list[str]:
    """Return the sentences of all alarms of `drift.json`."""
    return [*found["drift"]["reasons"], *(alarm["reason"] for alarm in found["operations"])]


def _of_trial(trial: ChallengerTrial) -> str:
    header = ["task", "differences", "answers", "challenger less champion", "at least", "at most", ""]
    rows = [
        [
            worded(x.name),
            decimal(x.differences, 0),
            decimal(x.answers, 0),
            *map(signed, (x.mean, x.low, x.high)),
            worded(x.finding),
        ]
        for x in trial.series
    ]
    return "\n\n".join([f"{trial.reason()}.", *([_table(header, rows)] if rows else [])])


def ratings_sentence(ratings: Mapping[str, Any]) -> str:
    """State the mean rating of each task; empty without any."""
    if not ratings:
        return ""
    said = (
        worded(
            "{task} {mean} of {answers} answers",
            task=task,
            mean=decimal(each["mean"], 2),
            answers=decimal(each["answers"], 0),
        )
        for task, each in ratings.items()
    )
    return worded("Ratings from 1 to 5, on average: {ratings}.", ratings="; ".join(said))


def feedback_sentence(feedback: Mapping[str, int]) -> str:
    """State what feedback was read; empty without any."""
    if not feedback["lines"]:
        return ""
    message = "{lines} lines of feedback gave {references} answers a reference and {ratings} a rating."
    if feedback["unknown"]:
        message = (
            "{lines} lines of feedback gave {references} answers a reference and {ratings} a rating; {unknown} "
            "requests in it are not in the logs."
        )
    counts = {name: decimal(feedback[name], 0) for name in ("lines", "references", "ratings", "unknown")}
    return worded(message, **counts)


def rate_sentence(page: Page) -> str:
    """State the rate of false alarms, and the fixed rule."""
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


def read_sentence(page: Page) -> str:
    """State the rows read and the rows excluded."""
    logs = page.document["logs"]
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
    return f"{'; '.join([read, *left_out])}. {feedback_sentence(logs['feedback'])}".rstrip()


def write_page(page: Page, drawn: Mapping[str, str], folder: Path) -> None:
    """Write `report.html` into a folder."""
    text = page_template(_TEMPLATE, decimal=decimal, signed=signed).render(
        page=page,
        document=page.document,
        headline=headline(page),
        lines=lines(page),
        last_day=_day(page.document["logs"]["last_day"]),
        reasons=alarm_sentences(page.document),
        known=[known_sentence(each) for each in page.document["known"]],
        ratings=ratings_sentence(page.document["ratings"]),
        sure=trial_sentence(page.trials),
        cost=cost_sentence(page.document["serving"]),
        rate=rate_sentence(page),
        read=read_sentence(page),
        drawn=drawn,
        unit="hour" if page.daily["day"].n_unique() == 1 else "day",
    )
    (folder / REPORT_PAGE).write_text(text, encoding="utf-8")


def _bullets(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in ([*map(worded, header)], rule, *rows))


def _percent(share: float | None) -> str:
    return _UNKNOWN if share is None else percent(share, 1)


def _dollars(dollars: float | None) -> str:
    return _UNKNOWN if dollars is None else amount(dollars)


def _day(written: str) -> str:
    """Format a day of `drift.json`."""
    return written_day(date.fromisoformat(written))
