"""Prompts of insights: small tables of the store's numbers."""

import random
from collections.abc import Iterable, Iterator
from typing import Final

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.insights.store_facts import FactTable, fact_tables
from tasks.commerce.text.wordings import read_wording

DATA_FILES: Final = ("data/wordings/insights.toml",)
WORDING: Final = read_wording("insights")
MISSES: Final = 1_000
"""Consecutive draws without a new prompt after which the store counts as exhausted."""


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples on small tables of the store's numbers; a table repeats in another wording only."""
    for prompt, table in distinct_tables(fact_tables(store, generator), generator, count):
        yield Example("insights", WORDING.system, prompt, {"facts": list(table.facts)})


def distinct_tables(
    tables: Iterable[FactTable], generator: random.Random, count: int
) -> Iterator[tuple[str, FactTable]]:
    """Yield prompts on tables, no two alike, until there are enough or hardly any new ones."""
    seen: set[int] = set()
    misses = 0
    for table in tables if count else ():
        prompt = f"{generator.choice(WORDING.instructions)}\n{table.text}"
        digest = hash(prompt)
        if digest in seen:
            misses += 1
            if misses == MISSES:
                return
            continue
        misses = 0
        seen.add(digest)
        yield prompt, table
        if len(seen) == count:
            return
