"""Prompts of insights: small tables of the store's numbers, with the number of orders in each."""

import random
from collections.abc import Iterator
from typing import Final

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.insights.store_facts import fact_tables
from tasks.commerce.text.wordings import read_wording

DATA_FILES: Final = ("data/wordings/insights.toml",)
WORDING: Final = read_wording("insights")
MISSES: Final = 1_000
"""Consecutive draws without a new prompt after which the store counts as exhausted."""


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples on small tables, whose references are the tables' cells; a table repeats in another wording only.

    There are at most `count`, and fewer where hardly any draw is new.
    """
    seen: set[int] = set()
    misses = 0
    for table in fact_tables(store, generator) if count else ():
        prompt = f"{generator.choice(WORDING.instructions)}\n{table.text}"
        digest = hash(prompt)
        if digest in seen:
            misses += 1
            if misses == MISSES:
                return
            continue
        misses = 0
        seen.add(digest)
        yield Example("insights", WORDING.system, prompt, {"facts": list(table.cells)})
        if len(seen) == count:
            return
