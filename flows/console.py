"""What a person sees in the terminal: progress with an estimate on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from schemas.progress import Progress as Report

if TYPE_CHECKING:
    from flows.retrain import Retraining

SECONDS_BEFORE_LINES = 2.0
SECONDS_BETWEEN_LINES = 10.0

console = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else 100)


def say(text: str) -> None:
    """Print one line for whoever watches."""
    console.print(text, markup=False, soft_wrap=True)


@contextmanager
def stage_progress(stage: str) -> Iterator[Report]:
    """Show the progress of one stage for as long as the block runs."""
    if console.is_terminal:
        with _bar(stage) as report:
            yield report
    else:
        yield _lines(stage)


@contextmanager
def _bar(stage: str) -> Iterator[Report]:
    columns = (
        TextColumn("{task.fields[stage]:<10}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None, stage=stage)

        def report(done: int, total: int, text: str) -> None:
            progress.update(task, completed=done, total=total, description=text)

        yield report


def _lines(stage: str) -> Report:
    due = time.monotonic() + SECONDS_BEFORE_LINES
    first: tuple[float, int] | None = None

    def report(done: int, total: int, text: str) -> None:
        nonlocal due, first
        now = time.monotonic()
        if done and first is None:
            # What comes before the first unit, such as loading libraries, says nothing about the units.
            first = now, done
        if now < due:
            return
        due = now + SECONDS_BETWEEN_LINES
        estimate = ""
        if first is not None and done > first[1]:
            estimate = f", about {(now - first[0]) / (done - first[1]) * (total - done):.0f} s to go"
        say(f"{stage}: {done}/{total} {text}{estimate}")

    return report


def print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[str] = (), *, lines: bool = False
) -> None:
    """Print a table within 100 columns; the first column and those named in `texts` are left-aligned.

    Args:
        title: What the table is.
        header: The names of the columns.
        rows: The cells of each row; they are shown as they are, markup and all.
        texts: Columns of words.
        lines: Draw a line between rows, for cells of several lines.
    """
    table = Table(title=title, title_justify="left", show_lines=lines)
    for index, name in enumerate(header):
        table.add_column(name, justify="left" if index == 0 or name in texts else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def print_synthesis(summary: Mapping[str, Any]) -> None:
    """Print how many prompts each task has, and what is to be known of it."""
    added = (summary["paraphrases"] or {"made": {}})["made"]
    print_table(
        f"Prompts by task, from {summary['store']['orders']} {summary['source']} orders",
        ("task", "asked", "made", "paraphrases"),
        [
            (task, str(asked), str(summary["made"][task]), str(added.get(task, 0)))
            for task, asked in summary["asked"].items()
            if asked
        ],
    )
    for warning in summary["warnings"]:
        say(f"warning: {warning}")


def print_curation(summary: Mapping[str, Any]) -> None:
    """Print the splits by task, what was replaced, and why rows were dropped."""
    from schemas.prompts import SPLITS

    print_table(
        f"{sum(summary[split] for split in SPLITS)} prompts kept, {summary['quarantined']} in quarantine",
        ("task", *SPLITS),
        [
            (task, *(str(sizes[split]) for split in SPLITS))
            for task, sizes in summary["tasks"].items()
            if any(sizes.values())
        ],
    )
    dropped = [
        (reason, str(sum(tasks.values())), "  ".join(f"{task} {count}" for task, count in tasks.items()))
        for reason, tasks in summary["reasons"].items()
        if tasks
    ]
    if dropped:
        print_table("Quarantine", ("reason", "rows", "by task"), dropped, texts=("by task",))
    replaced = [(f"[{kind}]", str(count)) for kind, count in summary["scrubbed"].items() if count]
    if replaced:
        print_table("Personal data replaced", ("placeholder", "times"), replaced)


def print_retraining(result: "Retraining") -> None:
    """Print where the time went, what the evaluation found and what was decided."""
    from flows.print_compare import print_report
    from tasks.evaluate.report import REPORT_PAGE

    print_table(
        "Seconds by stage",
        ("stage", "seconds", "artifact", "made"),
        [
            (name, f"{stage.seconds:.1f}", stage.record.sha256[:12], "earlier" if stage.reused else "now")
            for name, stage in result.stages.items()
        ]
        + [("in all", f"{result.seconds:.1f}", "", "")],
    )
    print_report(result.report)
    decision = result.decision
    say(f"{decision['verdict']}: version {decision['version']} of {decision['model']}")
    say(f"`{decision['alias']}` is " + (f"version {result.champion}" if result.champion else "no version yet"))
    say(f"report: {result.stages['evaluate'].path / REPORT_PAGE}")


def print_scores(result: Mapping[str, Any]) -> None:
    """Print what the rollouts of each task came to, and the ground truth where it was measured."""
    components = {task: _figures(scores["components"]) for task, scores in result["tasks"].items()}
    print_table(
        f"{result['rollouts']} rollouts, spec {result['spec']}, reward version {result['reward_version'][:12]}",
        ("task", "rollouts", "reward", "components"),
        [(task, str(s["n"]), f"{s['reward']:.3f}", components[task]) for task, s in result["tasks"].items()],
        texts=("components",),
    )
    measured = {task: scores["metrics"] for task, scores in result["tasks"].items() if scores.get("metrics")}
    if measured:
        rows = [(task, _figures(metrics)) for task, metrics in measured.items()]
        print_table("Ground truth (no reward)", ("task", "metrics"), rows, texts=("metrics",))


def _figures(values: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.3f}" for name, value in values.items())
