"""Rewards without the work: constants, unread prompts, templates, bad answers, and good ones in other words.

For each task, on fresh prompts of a simulated store and, with --olist, of a real sample (half of its people choose the
constants, the other half are asked):

- the mean reward of the most frequent reference's answer, of the best constant, of the best rule that reads only the
  prompt's own lines (`Nota:`, `Entrega:`) and not the text, and of the best template filled from the prompt;
- the median loss of the corruptions and of the rewrites of `tasks.audit.critic`: of each the median over the prompts to
  which it applies, then over all of a kind; a loss is a share of the good answer's reward.

Limits: constants and unread rules .70 simulated and .60 real; a corruption loses .30 or more, .50 where a manager would
not send the answer at all; a rewrite .15 or less, each by its median. Every alteration that misses its limit is listed.
A real store says nothing of churn.
"""

import random
import sys
import zlib
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.critic.baselines import Baselines, measure_baselines
from benchmarks.harness import Report, progress, run_benchmark
from schemas.store.files import read_store
from schemas.store.store import Store
from schemas.tables.prompts import PromptRow, content_id
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.critic.critic import Criticism, Standing, criticize, standings
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.sql_qa.sandbox import Database, Databases
from tasks.synthesize.simulated import simulate_store

SEED: Final = 11
ORDERS: Final = 8_000
TRAINING: Final = 1_000
"""Prompts that choose the constants."""
MOST: Final = {"simulated": 0.70, "real": 0.60}
"""Highest mean reward of a constant or of an unread prompt."""


@dataclass(frozen=True)
class Prompts:
    """Prompts of one task, and what their answers are judged with."""

    training: Sequence[PromptRow]
    asked: Sequence[PromptRow]
    databases: Databases | None
    witness: Database | None


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--prompts", type=int, default=2_000, help="for each task")
    parser.add_argument("--tasks", nargs="*", choices=TASK_NAMES, default=TASK_NAMES, help="that are measured")
    parser.add_argument("--olist", type=Path, default=None, metavar="DIR", help="Olist's CSV files, measured as well")
    parser.add_argument("--worst", type=int, default=0, help="of a task's misses, print each with one completion")


def measure(report: Report, options: Namespace) -> None:
    """Measure both kinds of store."""
    stores = {"simulated": simulate_store(ORDERS, random.Random(f"{SEED}:asked"))}
    if options.olist is not None:
        stores["real"] = read_store(options.olist)
    for kind, store in stores.items():
        _measure_store(report, options, kind, store)


def _measure_store(report: Report, options: Namespace, kind: str, store: Store) -> None:
    rows: list[Sequence[str | float]] = []
    missed: list[tuple[Standing, str]] = []
    for task in progress(options.tasks, kind):
        prompts = _prompts(task, kind, store, options.prompts)
        if not prompts.asked or not prompts.training:
            rows.append((task, 0, *["-"] * 8))
            continue
        baselines = measure_baselines(task, prompts.training, prompts.asked, prompts.databases)
        found = list(criticize(task, prompts.asked, SEED, prompts.databases, prompts.witness))
        known = standings(task, found, len(prompts.asked))
        rows.append(_row(task, len(prompts.asked), baselines, known))
        missed += [(standing, _example(standing, found)) for standing in known if not standing.met]
        _limit(report, kind, task, baselines, known)
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
        rows,
    )
    _print_missed(report, kind, missed, options.worst)


def _row(task: TaskName, count: int, baselines: Baselines, known: Sequence[Standing]) -> Sequence[str | float]:
    values: list[str | float] = [task, count]
    means = (baselines.usual, baselines.constant, baselines.unread, baselines.template)
    values += ["-" if value is None else value for value in means]
    for kind in ("corruption", "rewrite"):
        of_kind = [standing for standing in known if standing.kind == kind]
        values += [
            median(standing.loss for standing in of_kind),
            f"{sum(not standing.met for standing in of_kind)}/{len(of_kind)}",
        ]
    return values


def _limit(report: Report, kind: str, task: TaskName, baselines: Baselines, known: Sequence[Standing]) -> None:
    for name, value in (("the best constant", baselines.constant), ("the best unread rule", baselines.unread)):
        most = MOST[kind]
        report.limit(value is None or value <= most, f"{kind} {task}: {name} earns {value or 0:.3f}, limit {most:.2f}")
    for of_kind in ("corruption", "rewrite"):
        missing = sum(standing.kind == of_kind and not standing.met for standing in known)
        report.limit(not missing, f"{kind} {task}: {missing} {of_kind}s miss their limit")


def _print_missed(report: Report, kind: str, missed: Sequence[tuple[Standing, str]], worst: int) -> None:
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


def _example(standing: Standing, found: Sequence[Criticism]) -> str:
    """Return a completion of an alteration whose loss misses its limit."""
    return next(each.completion for each in found if each.name == standing.name and not each.within)


def _prompts(task: TaskName, kind: str, store: Store, count: int) -> Prompts:
    databases = Databases.from_store(store) if task == "sql_qa" else None
    witness = Database(simulate_store(1_500, random.Random(f"{SEED}:witness"))) if task == "sql_qa" else None
    if kind == "simulated":
        other = simulate_store(ORDERS, random.Random(f"{SEED}:training"))
        return Prompts(_rows(task, other, TRAINING), _rows(task, store, count), databases, witness)
    halves: tuple[list[PromptRow], list[PromptRow]] = ([], [])
    for row in _rows(task, store, 2 * count):
        halves[zlib.crc32((row.customer_id or row.prompt_id).encode()) % 2].append(row)
    return Prompts(*halves, databases, witness)


def _rows(task: TaskName, store: Store, count: int) -> list[PromptRow]:
    rows = []
    for example in EXAMPLE_MAKERS[task](store, random.Random(SEED), count):
        content = (example.task, example.system, example.prompt, example.reference)
        origin = (example.customer_id, example.order_id, example.review_id)
        rows.append(PromptRow(content_id(*content), *content, "simulated", *origin))
    return rows


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
