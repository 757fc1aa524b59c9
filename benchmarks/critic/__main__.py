"""Rewards without the work: constants, unread prompts, templates, bad answers, and good ones in other words.

For each task, on fresh prompts of a simulated store and of a real sample (half of its people choose the constants, the
other half are asked):

- the mean reward of the most frequent reference's answer, of the best constant, of the best rule that leaves most of
  the prompt unread (the review of extraction and sentiment; all but the first words of a question, a table's titles,
  an offer; with invented complaints, if they earn more), and of the best template filled from the prompt;
- the median loss of the corruptions and of the rewrites of `tasks.audit.critic`: of each the median over the prompts to
  which it applies, then over all of a kind; a loss is a share of the good answer's reward.

Limits: constants and unread rules .70 simulated and .60 real; a corruption loses .30 or more, .50 where a manager would
not send the answer at all; a rewrite .15 or less, each by its median. Every alteration that misses its limit is listed.
A real store says nothing of churn.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from statistics import median
from typing import Final, get_args

from benchmarks.critic.figures import Figures, Job, Kind, measure_task
from benchmarks.harness import Report, add_olist, map_in_processes, refuse_missing_olist, run_benchmark
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.critic.critic import Standing

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
MOST: Final = {"simulated": 0.70, "real": 0.60}
"""Highest mean reward of a constant or of an unread prompt."""
LONGEST: Final[TaskName] = "sql_qa"
"""The task that takes longest, which begins first."""


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--prompts", type=int, default=2_000, help="for each task")
    parser.add_argument("--tasks", nargs="*", choices=TASK_NAMES, default=TASK_NAMES, help="that are measured")
    parser.add_argument("--stores", nargs="*", choices=KINDS, default=KINDS, help="that the prompts are of")
    add_olist(parser)
    parser.add_argument("--processes", type=int, default=2, help="at once; they change no figure")
    parser.add_argument("--worst", type=int, default=0, help="of a task's misses, print each with one completion")


def measure(report: Report, options: Namespace) -> None:
    """Measure every task on every kind of store."""
    refuse_missing_olist(options)
    jobs = [Job(task, kind, options.prompts, options.olist) for kind in options.stores for task in options.tasks]
    jobs.sort(key=lambda job: job.task != LONGEST)
    found = {
        (each.job.kind, each.job.task): each
        for each in map_in_processes(measure_task, jobs, min(options.processes, len(jobs)), "tasks")
    }
    for kind in options.stores:
        _print(report, kind, [found[kind, task] for task in options.tasks], options.worst)


def _print(report: Report, kind: Kind, found: Sequence[Figures], worst: int) -> None:
    for each in found:
        _limit(report, each)
    report.table(
        f"{kind} prompts: mean rewards without the work, and median losses",
        {
            "task": "",
            "prompts": ",.0f",
            "usual": ".3f",
            "constant": ".3f",
            "unread": ".3f",
            "template": ".3f",
            "corrupted": ".3f",
            "missed": "",
            "rewritten": ".3f",
            "missed ": "",
        },
        [_row(each) for each in found],
    )
    _print_missed(report, kind, [missed for each in found for missed in each.missed], worst)


def _row(found: Figures) -> Sequence[str | float]:
    if found.baselines is None:
        return (found.job.task, 0, *["-"] * 8)
    values: list[str | float] = [found.job.task, found.asked]
    known = found.baselines
    means = (known.usual, known.constant, known.unread, known.template)
    values += ["-" if value is None else value for value in means]
    for kind in ("corruption", "rewrite"):
        of_kind = [standing for standing in found.standings if standing.kind == kind]
        values += [
            median(standing.loss for standing in of_kind),
            f"{sum(not standing.met for standing in of_kind)}/{len(of_kind)}",
        ]
    return values


def _limit(report: Report, found: Figures) -> None:
    if found.baselines is None:
        return
    about, most = f"{found.job.kind} {found.job.task}", MOST[found.job.kind]
    for name, value in (
        ("the best constant", found.baselines.constant),
        ("the best unread rule", found.baselines.unread),
    ):
        report.limit(value is None or value <= most, f"{about}: {name} earns {value or 0:.3f}, limit {most:.2f}")
    for of_kind in ("corruption", "rewrite"):
        missing = sum(standing.kind == of_kind for standing, _ in found.missed)
        report.limit(not missing, f"{about}: {missing} {of_kind}s miss their limit")


def _print_missed(report: Report, kind: Kind, missed: Sequence[tuple[Standing, str]], worst: int) -> None:
    ranked = sorted(missed, key=lambda each: (each[0].task, each[0].kind, -abs(each[0].loss - each[0].limit)))
    report.table(
        f"{kind} prompts: alterations whose median loss misses its limit",
        {
            "task": "",
            "alteration": "",
            "severity": "",
            "applies": ".2f",
            "loss": ".3f",
            "limit": ".2f",
            "within": ".2f",
        },
        [(each.task, each.name, each.severity, each.applied, each.loss, each.limit, each.within) for each, _ in ranked],
        left=("alteration", "severity"),
    )
    shown: dict[tuple[TaskName, str], int] = {}
    for standing, completion in ranked if worst else ():
        place = standing.task, standing.kind
        shown[place] = shown.get(place, 0) + 1
        if shown[place] <= worst:
            report.line(f"{standing.task} {standing.name}, loss {standing.loss:.3f}: {completion!r}")


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
