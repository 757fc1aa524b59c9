"""Fresh prompts that the critic's tests read, and what it makes of them."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from schemas.store.store import Store
from schemas.tables.prompts import PromptRow, content_id
from schemas.tasks import TaskName
from tasks.audit.critic.alteration import Case, CriticAlteration
from tasks.audit.critic.critic import ALTERATIONS, case_of
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.sql_qa.sandbox import Database, Databases
from tasks.synthesize.simulated import simulate_store

ORDERS: Final = 1_500
SEED: Final = 3
COUNTS: Final[Mapping[TaskName, int]] = {
    "extraction": 120,
    "sentiment": 60,
    "churn": 80,
    "insights": 120,
    "push": 150,
    "sql_qa": 100,
}


@dataclass(frozen=True)
class Altered:
    """One altered answer."""

    case: Case
    alteration: CriticAlteration
    completion: str


@cache
def store(number: int) -> Store:
    """Return a simulated store."""
    return simulate_store(ORDERS, random.Random(f"critic:{number}"))


def unlabelled_store() -> Store:
    """Return the first store as a real one: nobody knows what a review is about."""
    return replace(store(0), review_causes=None)


@cache
def databases() -> Databases:
    """Return the copies on which queries are judged."""
    return Databases.from_store(store(0))


@cache
def witness(number: int = 1) -> Database:
    """Return another store."""
    return Database(store(number))


@cache
def rows(task: TaskName) -> Sequence[PromptRow]:
    """Return fresh prompts of a task."""
    return rows_of(task, store(0))


def rows_of(task: TaskName, source: Store) -> list[PromptRow]:
    """Return fresh prompts of a task from a store."""
    found = []
    for example in EXAMPLE_MAKERS[task](source, random.Random(SEED), COUNTS[task]):
        content = (example.task, example.system, example.prompt, example.reference)
        origin = (example.customer_id, example.order_id, example.review_id)
        found.append(PromptRow(content_id(*content), *content, "simulated", *origin))
    return found


@cache
def altered(task: TaskName) -> Sequence[Altered]:
    """Return every altered answer to the fresh prompts of a task."""
    cases = [case_of(row, witness() if task == "sql_qa" else None) for row in rows(task)]
    return [
        Altered(case, alteration, completion)
        for case in cases
        for alteration in ALTERATIONS[task]
        if (completion := alteration.apply(case, SEED)) is not None
    ]


def named(task: TaskName, *names: str) -> list[Altered]:
    """Return the altered answers of some alterations; there are some."""
    found = [each for each in altered(task) if each.alteration.name in names]
    assert found
    return found
