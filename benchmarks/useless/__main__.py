"""Useless answers in production logs: what `tucano monitor` finds of them, after how many days, and what it does not.

A champion answers a simulated store's prompts, 20 answers a task in a day; after seven good days its answers are
useless for two weeks. Prompts, logs and scores go through the stage itself. Each task is looked at by itself, so that
the others are the good ones which could mask it. `never` is within the two weeks.

Limits: of refusals in 40 Portuguese, 12 English and 12 Spanish wordings and of 24 words that say nothing, half of which
were held out, the detector finds nine in ten of each half; none of the right answers of six tasks, nor of their
rewrites by the critic, is one; what the table says is found is found within three days in each task; none of the
healthy logs has an alarm; logs that cannot be read are refused. What is never found has no limit: without references
nobody sees it.
"""

import random
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.harness import Report, progress, run_benchmark
from benchmarks.useless.answers import attacks, halves, right, weak
from benchmarks.useless.logs import DAYS, EACH, healthy, hidden, refused_logs
from benchmarks.useless.world import GOOD_DAYS, SEED, WORDINGS, Alarm, Answer, World, alarms, make_world
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES
from tasks.audit.critic.critic import ALTERATIONS, case_of
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS
from tasks.commerce.text.text_form import refuses
from tasks.monitor.answered import is_answer
from tasks.monitor.drift import ALL
from tasks.synthesize.prompt_rows import as_prompt_row
from tasks.synthesize.simulated import simulate_store

LEAST_FOUND: Final = 0.9
MOST_DAYS: Final = 3
FOUND_EVERYWHERE: Final = (
    "refusals",
    "refusals, held out",
    "null, N/A, não sei",
    "null, N/A, held out",
    "refusal behind invisible characters",
    "refusal in fields of JSON, in SQL",
)
"""Attacks that have to be found in each task, also in those that were never good."""
REFERENCES: Final = 400
"""Right answers of each task in which no refusal may be found."""


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--only", choices=list(PARTS), action="append", help="run this part instead of all")
    parser.add_argument("--references", type=int, default=REFERENCES, help="right answers of each task")


def measure(report: Report, options: Namespace) -> None:
    """Run each part."""
    with tempfile.TemporaryDirectory() as folder:
        world = make_world(Path(folder))
        for name in options.only or PARTS:
            PARTS[name](report, options, world)


def _wordings(report: Report, _: Namespace, __: World) -> None:
    rows = []
    for name in WORDINGS:
        for half, texts in zip(("seen", "held out"), halves(name), strict=True):
            found = sum(not is_answer("push", "", text) for text in texts)
            before = sum(refuses(text) or not any(map(str.isalnum, text)) for text in texts)
            rows.append((f"{name}, {half}", len(texts), found, before))
    for half in ("seen", "held out"):
        counts = [(number, found) for name, number, found, _ in rows if name.endswith(half)]
        asked, found = (sum(column) for column in zip(*counts, strict=True))
        report.limit(found >= LEAST_FOUND * asked, f"{half}: {found} of {asked} wordings are found, limit 90 %")
    columns = {"wordings": "", "number": ",", "found": ",", "by the rewards' refusals alone": ","}
    report.table("Answers that are none", columns, rows)


def _precision(report: Report, options: Namespace, _: World) -> None:
    store = simulate_store(8_000, random.Random(SEED + 1))
    rows = []
    for task in progress(TASK_NAMES, "right answers"):
        wrong = [0, 0]
        counts = [0, 0]
        for example in EXAMPLE_MAKERS[task](store, random.Random(SEED), options.references):
            answer = TASKS[task].answer(example.reference)
            rewritten: list[str | None] = []
            if task != "sql_qa" and counts[0] < options.references // 4:
                case = case_of(as_prompt_row(example), None)
                rewritten = [each.apply(case, SEED) for each in ALTERATIONS[task] if each.kind == "rewrite"]
            kinds: tuple[list[str | None], list[str | None]] = ([answer], rewritten)
            for kind, texts in enumerate(kinds):
                said = [text for text in texts if text is not None]
                counts[kind] += len(said)
                wrong[kind] += sum(not is_answer(task, example.prompt, text) for text in said)
        rows.append((task, counts[0], wrong[0], counts[1], wrong[1]))
        report.limit(not sum(wrong), f"{task}: {wrong} right answers and rewrites count as none, limit 0")
    columns = {"task": "", "right answers": ",", "as none": ",", "rewrites": ",", "of them as none": ","}
    report.table("Right answers, and good ones in other words", columns, rows)


def _answers(report: Report, _: Namespace, world: World) -> None:
    was: Mapping[str, Answer] = {"learned": right, "never learned": weak}
    for name, good in was.items():
        rows = []
        for attack, bad in progress(list(attacks(world).items()), name):
            lines = [
                *world.days(0, GOOD_DAYS, EACH, good),
                *world.days(GOOD_DAYS, DAYS - GOOD_DAYS, EACH, bad),
            ]
            found = alarms(world, lines, was=good)
            rows.append((attack, *(_cell(found.get(task)) for task in TASK_NAMES)))
            late = [task for task in TASK_NAMES if task not in found or found[task].days > MOST_DAYS]
            is_limited = attack in FOUND_EVERYWHERE
            report.limit(not is_limited or not late, f"{attack}, {name}: not found within 3 days in {', '.join(late)}")
        title = f"Days until an alarm, {EACH} answers a task in a day; tasks that the champion {name}"
        report.table(title, ("instead of its answers", *TASK_NAMES), rows)


def _logs(report: Report, _: Namespace, world: World) -> None:
    rows = []
    for name, log in progress(list(hidden(world).items()), "hidden"):
        find = partial(alarms, world, log.lines, was=right, first_bad=log.first_bad, feedback=log.feedback)
        found = find(**log.config)
        rows.append((name, _cell(found.get(ALL)), *(_cell(found.get(task)) for task in TASK_NAMES)))
    report.table("Days until an alarm of logs that hide it", ("log", ALL, *TASK_NAMES), rows)
    refused = []
    for name, lines in refused_logs(world).items():
        try:
            alarms(world, lines, was=right)
            report.limit(False, f"{name} is read")
        except InputError as error:
            refused.append((name, str(error).partition(": ")[2].partition(";")[0][:60]))
    report.table("Logs that are refused whole", ("log", "reason"), refused)


def _healthy(report: Report, _: Namespace, world: World) -> None:
    rows = []
    for name, log in progress(list(healthy(world).items()), "healthy"):
        found = alarms(world, log.lines, was=right, first_bad=0)
        said = "; ".join(f"{task} {_cell(each)}" for task, each in found.items()) or "none"
        rows.append((name, f"{len(log.lines):,}", said))
        report.limit(not found, f"{name}: a false alarm of {said}")
    report.table("Healthy logs", ("log", "answers", "alarms"), rows)


def _cell(alarm: Alarm | None) -> str:
    return "never" if alarm is None else f"{alarm.days} {'+'.join(alarm.measures)}"


PARTS: Final = {
    "wordings": _wordings,
    "precision": _precision,
    "answers": _answers,
    "logs": _logs,
    "healthy": _healthy,
}

if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
