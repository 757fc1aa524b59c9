"""Terminal output of monitoring, in the report's language: its alarms and notes are sentences of the report."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from flows.runtime.console import print_table, show
from schemas.config.config import Config
from tasks.monitor.drift import shown_by, sign_of
from tasks.monitor.measures import known_sentence
from tasks.monitor.report import cost_sentence, feedback_sentence, promise_sentence, ratings_sentence
from tasks.report.language import spoken
from tasks.report.number_format import decimal, interval, percent, signed, written_day
from tasks.report.wording import worded

if TYPE_CHECKING:
    from flows.stages.monitor import Monitored

HEADER = ("task", "shows", "answers", "mean", "95 %", "test", "valid", "answered", "sign")
"""Short, so that the longest words of either language are within 100 columns."""

TRIAL_HEADER = ("task", "answers", "difference", "bounds", "finding", "answers needed")


def print_monitoring(monitored: "Monitored", last_days: Sequence[Mapping[str, Any]], config: Config) -> None:
    """Print each task's last day next to the evaluation's mean, what was left out, the cost and the alarms."""
    with spoken(config.language, config.workers.reais_per_dollar):
        _print_findings(monitored.found, last_days)
        if monitored.seconds:
            steps = (f"{worded(step)} {decimal(seconds, 1)}" for step, seconds in monitored.seconds.items())
            show(worded("seconds: {steps}", steps=", ".join(steps)))
        reasons = monitored.reasons
        promise = promise_sentence(monitored.found["drift"])
        show(worded("alarms:") if reasons else worded("no alarm: {promise}", promise=promise))
        for reason in reasons:
            show(f"- {reason}")


def _print_findings(found: Mapping[str, Any], last_days: Sequence[Mapping[str, Any]]) -> None:
    logs, drift, champion = found["logs"], found["drift"], found["champion"]
    series = {each["name"]: each for each in drift["series"] if each["measure"] in ("reward", "form")}
    rows = [_row(day, series.get(day["task"]), shown_by(day["task"], drift["by_form"])) for day in last_days]
    title = worded(
        "{who}, each task's last day up to {day}",
        who=worded("Version {version} of {model}", version=champion["version"], model=champion["model"]),
        day=_day(logs["last_day"]),
    )
    print_table(title, [*map(worded, HEADER)], rows)
    show(
        worded(
            "{answers} answers since {day}, of {rows} rows",
            answers=decimal(logs["answers"], 0),
            day=_day(logs["first_day"]),
            rows=decimal(logs["rows"], 0),
        )
    )
    for why, count in logs["left_out"].items():
        show(worded("left out: {n} {why}", n=decimal(count, 0), why=worded(why)))
    for note in found["notes"]:
        show(worded("note: {note}", note=note))
    sentences = (known_sentence(each) for each in found["known"])
    for sentence in (*sentences, feedback_sentence(logs["feedback"]), ratings_sentence(found["ratings"])):
        if sentence:
            show(sentence)
    for trial in found["trials"]:
        _print_trial(trial)
    show(cost_sentence(found["serving"]))
    show(_latency_sentence(last_days[0]))


def _row(day: Mapping[str, Any], series: Mapping[str, Any] | None, shows: str) -> tuple[str, ...]:
    return (
        worded(day["task"]),
        worded(shows),
        decimal(day["answers"], 0),
        decimal(day["mean"]),
        f"{decimal(day['low'], 2)}–{decimal(day['high'], 2)}",
        decimal(series["promised"][-1]) if series else "-",
        "-" if day["valid_share"] is None else percent(day["valid_share"], 1),
        percent(day["answered_share"], 1),
        worded(sign_of(series["evidence"][-1])) if series else "-",
    )


def _latency_sentence(day: Mapping[str, Any]) -> str:
    return worded(
        "On {day} half of the answers took {median} ms, 95 % up to {most}.",
        day=written_day(day["day"]),
        median=decimal(day["latency_p50"], 0),
        most=decimal(day["latency_p95"], 0),
    )


def _print_trial(trial: Mapping[str, Any]) -> None:
    rows = [
        (
            worded(each["name"]),
            decimal(each["answers"], 0),
            signed(each["mean"]),
            interval(each["low"], each["high"]),
            worded(each["finding"]),
            "-" if each["needed"] is None else decimal(each["needed"], 0),
        )
        for each in trial["series"]
    ]
    if rows:
        title = worded("{challenger} less the champion", challenger=trial["challenger"])
        print_table(title, [*map(worded, TRIAL_HEADER)], rows)
    show(f"{worded(trial['verdict'])}: {trial['reason']}")


def _day(written: str) -> str:
    return written_day(date.fromisoformat(written))
