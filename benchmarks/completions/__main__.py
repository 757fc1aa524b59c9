"""Browser of completions: `python -m benchmarks.completions [--rollouts N]`.

A training's log of so many rollouts is made of the recorded answers in data/audit/recorded: each text is the first half
of one and the second half of another, with a number, so that all differ; 25 groups of 8 a step. The page is opened in
Chromium, headless, from a server on loopback, several times by new profiles, and then used: a step is chosen, a text
is searched for, equal answers are shown as one. Milliseconds are the browser's own `performance.now()`: from the start
of the navigation to the first rows on the screen, and from an event to the rows that answer it.

Limit: the slowest of the openings takes at most 2 seconds.
"""

import json
import random
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import polars as pl

from benchmarks.completions.browser import find_chromium, run_in_page
from benchmarks.harness import Report, progress, run_benchmark
from schemas.source import REPOSITORY
from schemas.tables.prompts import PromptRow
from schemas.tasks import TASK_NAMES
from tasks.evaluate.completions.page import write_page
from tasks.evaluate.completions.rows import LoggedTraining, as_document
from tasks.personal_data.scrub import scrub_column

RECORDED: Final = REPOSITORY / "data" / "audit" / "recorded"
GROUPS_OF_A_STEP: Final = 25
GROUP: Final = 8
SEED: Final = 1
MOST_SECONDS: Final = 2.0
"""Limit of an opening."""
OPENINGS: Final = 5
USE: Final = """
  const part = (id) => page.getElementById(id);
  const timed = async (act) => {
    const began = performance.now();
    const before = page.querySelector(".row");
    act();
    do await next(); while (page.querySelector(".row") === before);
    return performance.now() - began;
  };
  return {
    open: Number(page.documentElement.dataset.opened),
    "first search, 150 of it waiting for more letters": await timed(() => change(part("search"), "não", "input")),
    "next search, 150 of it waiting for more letters": await timed(() => change(part("search"), "cliente", "input")),
    "equal answers as one": await timed(() => part("distinct").click()),
    "a step": await timed(() => change(part("step"), "2", "change")),
  };
"""


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--rollouts", type=int, default=100_000, metavar="N", help="rollouts on the page")


def measure(report: Report, options: Namespace) -> None:
    """Build the page and open it.

    Raises:
        InputError: There is no Chromium on PATH.
    """
    chromium = find_chromium()
    with TemporaryDirectory() as folder:
        log, prompts = _write_log(Path(folder), options.rollouts)
        began = time.process_time()
        rows = as_document([LoggedTraining(SEED, (log,), {})], prompts, {}, scrub_column)
        file = write_page(rows, Path(folder))
        built = time.process_time() - began
        found = [run_in_page(chromium, file, USE)[0] for _ in progress(range(OPENINGS), "openings")]
        texts, megabytes = len(rows["texts"]["text"]), file.stat().st_size / 1e6
    report.line(
        f"A page of {options.rollouts:,} rollouts, {texts:,} texts: {megabytes:.1f} MB, built in {built:.1f} s of the "
        f"processor. Milliseconds in Chromium, {OPENINGS} times."
    )
    report.table(
        "",
        {"what": "", "median": ",.0f", "slowest": ",.0f"},
        [(name, median(each[name] for each in found), max(each[name] for each in found)) for name in found[0]],
    )
    slowest = max(each["open"] for each in found) / 1000
    report.limit(slowest <= MOST_SECONDS, f"an opening took {slowest:.2f} s (limit {MOST_SECONDS:g} s)")


def _write_log(folder: Path, count: int) -> tuple[Path, Sequence[PromptRow]]:
    """Write a training's log, and return it with its prompts."""
    drawn = random.Random(SEED)
    recorded = {task: list(_recorded(task)) for task in TASK_NAMES}
    rows: list[dict[str, Any]] = []
    while len(rows) < count:
        group = len(rows) // GROUP
        task = drawn.choice(TASK_NAMES)
        prompt = drawn.choice(recorded[task])
        for _ in range(min(GROUP, count - len(rows))):
            one, other = drawn.choices(recorded[task], k=2)
            first, second = one["completion"], other["completion"]
            scores = dict(one["scores"])
            rows.append(
                {
                    "prompt_id": prompt["prompt_id"],
                    "task": task,
                    "step": 1 + group // GROUPS_OF_A_STEP,
                    "seed": SEED,
                    "completion": f"{first[: len(first) // 2]}{second[len(second) // 2 :]} {len(rows)}",
                    "reward": scores.pop("reward"),
                    "components": json.dumps(scores),
                    "advantage": drawn.gauss(0, 1) if drawn.random() < 0.8 else None,
                    "tokens": len(first) // 4,
                    "stop_reason": "end_of_turn" if drawn.random() < 0.95 else "token_limit",
                    "corrected": False,
                }
            )
    file = folder / "step-000001.parquet"
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(file)
    return file, [_prompt(each) for task in TASK_NAMES for each in recorded[task]]


def _recorded(task: str) -> Iterator[dict[str, Any]]:
    for line in (RECORDED / f"{task}.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _prompt(recorded: dict[str, Any]) -> PromptRow:
    return PromptRow(
        prompt_id=recorded["prompt_id"],
        task=recorded["task"],
        system="",
        prompt=recorded["prompt"],
        reference=recorded["reference"],
        source="simulated",
        customer_id=None,
        order_id=None,
        review_id=None,
    )


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
