"""Terminal output of monitoring."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flows.runtime.console import print_table, show
from tasks.monitor.report import cost_sentence, feedback_sentence, ratings_sentence

if TYPE_CHECKING:
    from flows.stages.monitor import Monitored

HEADER = ("task", "answers", "mean", "95 %", "promised", "valid", "p50 / p95 ms", "cost", "evidence")

TRIAL_HEADER = ("task", "answers", "difference", "bounds", "finding", "answers needed")


def print_monitoring(monitored: "Monitored", last_days: Sequence[Mapping[str, Any]]) -> None:
    """Print each task's last day next to the promised mean, what was left out, the cost and the alarms."""
    found = monitored.found
    logs, drift = found["logs"], found["drift"]
    series = {each["name"]: each for each in drift["series"]}
    rows = [_row(day, series.get(day["task"])) for day in last_days]
    champion = found["champion"]
    title = f"Version {champion['version']} of {champion['model']}, each task's last day up to {logs['last_day']}"
    print_table(title, HEADER, rows)
    show(f"{logs['answers']:,} answers since {logs['first_day']}, of {logs['rows']:,} rows")
    for why, count in logs["left_out"].items():
        show(f"left out: {count:,} {why}")
    for note in found["notes"]:
        show(f"note: {note}")
    for sentence in (feedback_sentence(logs["feedback"]), ratings_sentence(found["ratings"])):
        if sentence:
            show(sentence)
    for trial in found["trials"]:
        _print_trial(trial)
    _print_cost(found["serving"])
    if monitored.seconds:
        show("seconds: " + ", ".join(f"{step} {seconds:.1f}" for step, seconds in monitored.seconds.items()))
    show("drift:" if drift["found"] else "no drift: the champion answers as its evaluation promised")
    for reason in drift["reasons"]:
        show(f"- {reason}")


def _row(day: Mapping[str, Any], series: Mapping[str, Any] | None) -> tuple[str, ...]:
    return (
        day["task"],
        f"{day['answers']:,}",
        f"{day['mean']:.3f}",
        f"{day['low']:.2f}–{day['high']:.2f}",
        f"{series['promised'][-1]:.3f}" if series else "-",
        "-" if day["valid_share"] is None else f"{day['valid_share']:.1%}",
        f"{day['latency_p50']:,.0f} / {day['latency_p95']:,.0f}",
        "-" if day["cost_per_analysis"] is None else f"${day['cost_per_analysis']:.5f}",
        f"{series['evidence'][-1]:.2g}" if series else "-",
    )


def _print_trial(trial: Mapping[str, Any]) -> None:
    rows = [
        (
            each["name"],
            f"{each['answers']:,}",
            f"{each['mean']:+.3f}",
            f"{each['low']:+.3f} to {each['high']:+.3f}",
            each["finding"],
            "-" if each["needed"] is None else f"{each['needed']:,}",
        )
        for each in trial["series"]
    ]
    if rows:
        print_table(f"{trial['challenger']} less the champion", TRIAL_HEADER, rows)
    show(f"{trial['verdict']}: {trial['reason']}")


def _print_cost(serving: Mapping[str, Any]) -> None:
    show(cost_sentence(serving))
