"""Figures of one task on one kind of store: mean rewards without the work, and what each alteration loses."""

import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from benchmarks.critic.baselines import Baselines, measure_baselines
from schemas.store.files import read_store
from schemas.store.store import Store
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.audit.critic.critic import Standing, criticize, standings
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.sql_qa.sandbox import Database, Databases
from tasks.synthesize.prompt_rows import as_prompt_row
from tasks.synthesize.simulated import simulate_store

Kind = Literal["simulated", "real"]

SEED: Final = 11
ORDERS: Final = 8_000
TRAINING: Final = 1_000
"""Prompts that choose the constants."""


@dataclass(frozen=True)
class Job:
    """One task to be measured on one kind of store."""

    task: TaskName
    kind: Kind
    count: int
    """Prompts that are asked."""
    olist: Path
    """Folder of the real store's files."""


@dataclass(frozen=True)
class Figures:
    """What was measured."""

    job: Job
    asked: int
    baselines: Baselines | None
    """None without prompts: a real store says nothing of churn."""
    standings: Sequence[Standing]
    missed: Sequence[tuple[Standing, str]]
    """Alterations that miss their limit, each with a completion that does."""


@dataclass(frozen=True)
class Prompts:
    """Prompts of one task, and what their answers are judged with."""

    training: Sequence[PromptRow]
    asked: Sequence[PromptRow]
    databases: Databases | None
    witness: Database | None


def measure_task(job: Job) -> Figures:
    """Measure one task on one kind of store."""
    prompts = _prompts(job)
    if not prompts.asked or not prompts.training:
        return Figures(job, 0, None, (), ())
    baselines = measure_baselines(job.task, prompts.training, prompts.asked, prompts.databases)
    found = list(criticize(job.task, prompts.asked, SEED, prompts.databases, prompts.witness))
    known = standings(job.task, found, len(prompts.asked))
    examples: dict[str, str] = {}
    for each in found:
        if not each.within:
            examples.setdefault(each.name, each.completion)
    missed = [(standing, examples[standing.name]) for standing in known if not standing.met]
    return Figures(job, len(prompts.asked), baselines, known, missed)


def _prompts(job: Job) -> Prompts:
    store = _simulated("asked") if job.kind == "simulated" else read_store(job.olist)
    databases = Databases.from_store(store) if job.task == "sql_qa" else None
    witness = Database(simulate_store(1_500, random.Random(f"{SEED}:witness"))) if job.task == "sql_qa" else None
    if job.kind == "simulated":
        training = _rows(job.task, _simulated("training"), TRAINING)
        return Prompts(training, _rows(job.task, store, job.count), databases, witness)
    halves: tuple[list[PromptRow], list[PromptRow]] = ([], [])
    for row in _rows(job.task, store, 2 * job.count):
        halves[zlib.crc32((row.customer_id or row.prompt_id).encode()) % 2].append(row)
    return Prompts(*halves, databases, witness)


@cache
def _simulated(purpose: str) -> Store:
    return simulate_store(ORDERS, random.Random(f"{SEED}:{purpose}"))


def _rows(task: TaskName, store: Store, count: int) -> list[PromptRow]:
    return list(map(as_prompt_row, EXAMPLE_MAKERS[task](store, random.Random(SEED), count)))
