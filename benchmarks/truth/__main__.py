"""Ground truths against the critic's library: which bad answers they see, and which good ones in other words they keep.

The library (`tasks.audit.critic`) was written by other hands, and no ground truth reads it. On fresh prompts of a
simulated store each good answer is altered; a corruption is seen where one of the task's strictest metrics falls, and a
rewrite is kept where none does. The good answer of churn is given a reason of the profile, as no reference has one.
Shown are the share of all alterations (each by its mean over the prompts), those that are seen on less than half of the
prompts, and those that are kept on fewer than 95 %.

Limits: rewrites kept 95 %; 2,000 answers a second of processor time, but for SQL. What is not seen has none: the ground
truths say it of themselves.
"""

import json
import random
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from benchmarks.harness import Report, progress, run_benchmark
from schemas.documents import Rollout
from schemas.store.store import Store
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.critic.alteration import Case, Kind
from tasks.audit.critic.critic import ALTERATIONS, case_of
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS
from tasks.commerce.sql_qa.sandbox import Database, Databases
from tasks.synthesize.prompt_rows import as_prompt_row
from tasks.synthesize.simulated import simulate_store

SEED: Final = 17
ORDERS: Final = 8_000
STRICTEST: Final[Mapping[TaskName, tuple[str, ...]]] = {
    "extraction": ("exact", "field_f1"),
    "sql_qa": ("execution_accuracy",),
    "insights": ("all_kept",),
    "push": ("all_kept",),
    "sentiment": ("accuracy", "stars"),
    "churn": ("accuracy", "reason_true"),
}
LEAST_KEPT: Final = 0.95
LEAST_SEEN: Final = 0.5
LEAST_SPEED: Final = 2_000

Agreements = Mapping[Kind, Mapping[str, Sequence[bool]]]
"""By kind and alteration: whether the truth saw or kept it, prompt by prompt."""


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--prompts", type=int, default=200, help="for each task")
    parser.add_argument("--tasks", nargs="*", choices=TASK_NAMES, default=TASK_NAMES, help="that are measured")


def measure(report: Report, options: Namespace) -> None:
    """Measure each task."""
    store = simulate_store(ORDERS, random.Random(f"{SEED}:truth"))
    rows: list[Sequence[str | float]] = []
    unlike: list[tuple[TaskName, str, str, float]] = []
    for task in progress(options.tasks, "truth"):
        is_sql = task == "sql_qa"
        databases = Databases.from_store(store) if is_sql else None
        witness = Database(simulate_store(1_500, random.Random(f"{SEED}:witness"))) if is_sql else None
        found, speed = _measure_task(task, _cases(task, store, options.prompts, witness), databases)
        means = {kind: {name: fmean(each) for name, each in found[kind].items()} for kind in found}
        seen, kept = means["corruption"], means["rewrite"]
        rows.append(
            (
                *(task, len(seen), fmean(seen.values()), sum(each >= LEAST_SEEN for each in seen.values())),
                *(len(kept), fmean(kept.values()), sum(each >= LEAST_KEPT for each in kept.values())),
                speed,
            )
        )
        unlike += [(task, "seen", name, each) for name, each in seen.items() if each < LEAST_SEEN]
        unlike += [(task, "kept", name, each) for name, each in kept.items() if each < LEAST_KEPT]
        report.limit(fmean(kept.values()) >= LEAST_KEPT, f"{task}: keeps {fmean(kept.values()):.3f} of the rewrites")
        report.limit(is_sql or speed >= LEAST_SPEED, f"{task}: {speed:,.0f} answers a second")
    report.table(
        "Alterations of good answers, by task: seen and kept",
        {
            "task": "",
            "corruptions": ",.0f",
            "seen": ".3f",
            "in half": ",.0f",
            "rewrites": ",.0f",
            "kept": ".3f",
            "in 95 %": ",.0f",
            "a second": ",.0f",
        },
        rows,
    )
    report.table(
        "Alterations that are seen in less than half, or kept in less than 95 %",
        {"task": "", "which is": "", "alteration": "", "share": ".2f"},
        unlike,
        left=("which is", "alteration"),
    )


def _measure_task(task: TaskName, cases: Iterator[Case], databases: Databases | None) -> tuple[Agreements, float]:
    found: dict[Kind, dict[str, list[bool]]] = {"corruption": defaultdict(list), "rewrite": defaultdict(list)}
    answers, seconds = 0, 0.0
    for case in cases:
        good = _strictest(case, case.answer, databases)
        for alteration in ALTERATIONS[task]:
            completion = alteration.apply(case, SEED)
            if completion is None:
                continue
            started = time.process_time()
            altered = _strictest(case, completion, databases)
            seconds += time.process_time() - started
            answers += 1
            worse = any(one < other for one, other in zip(altered, good, strict=True))
            found[alteration.kind][alteration.name].append(worse == (alteration.kind == "corruption"))
    return found, answers / seconds


def _strictest(case: Case, completion: str, databases: Databases | None) -> list[float]:
    rollout = Rollout(
        prompt_id=case.prompt_id,
        task=case.task,
        prompt=case.prompt,
        completion=completion,
        reference=dict(case.reference),
    )
    metrics = TASKS[case.task].metric([rollout], databases)
    return [metrics[name] for name in STRICTEST[case.task]]


def _cases(task: TaskName, store: Store, count: int, witness: Database | None) -> Iterator[Case]:
    for example in EXAMPLE_MAKERS[task](store, random.Random(SEED), count):
        case = case_of(as_prompt_row(example), witness)
        yield _with_a_reason(case) if task == "churn" else case


def _with_a_reason(case: Case) -> Case:
    days = case.prompt.partition("Dias desde a última compra: ")[2].partition("\n")[0]
    fields = json.loads(case.answer) | {"reasoning": f"São {days} dias desde a última compra do cliente."}
    return replace(case, answer=json.dumps(fields, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
